import { runnerFromArguments, usage } from './flags.ts'
import { refusalFrom } from './refusal.ts'
import { type Runner, type RunnerOptions, startRunner } from './runner.ts'

const say = (line: string): void => void process.stderr.write(`${line}\n`)

function optionsFromProcess(): RunnerOptions {
  try {
    const found = runnerFromArguments(process.argv.slice(2))
    if (found !== 'help') return found
    process.stdout.write(usage)
    process.exit(0)
  } catch (error) {
    say(`${refusalFrom(error).message}\n\n${usage}`)
    process.exit(2)
  }
}

/** Stops on the first SIGTERM or SIGINT, letting calls in flight end; a second one cuts them off. */
function stopOnSignals(runner: Runner): void {
  let stopping = false
  const stop = (name: string): void => {
    if (stopping) process.exit(1)
    stopping = true
    say(`runner stopping on ${name}, calls in flight may end`)
    runner.close().then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  // A parent that forked us is gone: nobody is left to stop us.
  if (process.send) process.on('disconnect', () => stop('the end of its parent'))
}

async function main(): Promise<void> {
  const options = optionsFromProcess()
  try {
    if (options.execution?.allowPlain)
      say('WARNING: --allow-plain: calls without an execution context are served. For development only.')
    const runner = await startRunner(options)
    stopOnSignals(runner)
    const { url, engine, model } = runner
    say(`runner listening on ${url} (engine ${engine.name}, model ${model || 'not known yet'})`)
    process.send?.({ ready: true, url, engine: engine.name, model })
  } catch (error) {
    const { code, message, cause } = refusalFrom(error)
    const why = code === 'internal_error' && cause instanceof Error ? `: ${cause.message}` : ''
    say(`runner not started: ${message}${why}`)
    // What was begun, such as a download, must not keep a failed runner alive.
    if (process.send) process.send({ ready: false, code, message }, () => process.exit(1))
    else process.exit(1)
  }
}

await main()
