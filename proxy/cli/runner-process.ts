import { fork } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** A native runner in a process of its own. */
export interface RunnerProcess {
  readonly url: string
  readonly engine: string
  readonly model: string
  /** Tells it to stop and waits until it has. */
  stop(): Promise<void>
  /** Resolves with its exit code when it ends, by itself or told to. */
  readonly ended: Promise<number>
}

/** The runner's entry: its TypeScript source, or what was built from it. */
export function runnerEntry(): string {
  const source = fileURLToPath(new URL('../../native-runner/main.ts', import.meta.url))
  return existsSync(source) ? source : fileURLToPath(new URL('../../native-runner/main.js', import.meta.url))
}

interface Ready {
  readonly ready: boolean
  readonly url?: string
  readonly engine?: string
  readonly model?: string
  readonly message?: string
}

/** Starts a runner and waits until it serves. Resolves with why not, in words, when it cannot. */
export function startRunnerProcess(args: readonly string[]): Promise<RunnerProcess | string> {
  const child = fork(runnerEntry(), args, { execArgv: [], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const ended = new Promise<number>((resolve) => child.on('exit', (code) => resolve(code ?? 1)))
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    await ended
  }
  return new Promise((resolve) => {
    child.on('message', (said: Ready) => {
      if (!said.ready) return resolve(said.message ?? 'it did not say why')
      resolve({ url: said.url ?? '', engine: said.engine ?? '', model: said.model ?? '', stop, ended })
    })
    void ended.then((code) => resolve(`it ended with code ${code}`))
  })
}
