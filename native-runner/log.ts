import type { Log } from '../plugins/host.ts'

/** The log as one line of JSON an entry: `level`, `message` and the fields. */
export function createLog(say: (line: string) => void): Log {
  const write = (level: string) => (fields: Readonly<Record<string, unknown>>, message: string) =>
    say(JSON.stringify({ level, message, ...fields }))
  return { info: write('info'), warn: write('warn'), error: write('error') }
}
