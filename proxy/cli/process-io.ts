import type { Io } from './verb.ts'

/** This process's own streams, environment and signals. A reader of stdout that goes away ends the process quietly. */
export function createProcessIo(): Io {
  const { stdout, stderr, env } = process
  stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
  const interrupted = new AbortController()
  let heeded = false
  const stop = (): void => interrupted.abort()
  return {
    out: (text) => void stdout.write(`${text}\n`),
    say: (text) => void stderr.write(`${text}\n`),
    env,
    color: Boolean(stdout.isTTY) && !env['NO_COLOR'],
    terminal: Boolean(stdout.isTTY),
    // Signals are taken over only by a verb that asks for them, and only once each; a second one ends the process.
    get signal() {
      if (!heeded) {
        heeded = true
        process.once('SIGINT', stop).once('SIGTERM', stop)
      }
      return interrupted.signal
    },
  }
}
