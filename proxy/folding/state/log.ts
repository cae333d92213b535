import type { Script } from '../../../plugins/store.ts'
import type { LayerChanges } from './document.ts'
import type { StageChangeRecord } from './state.ts'

/** A change as it lies in the log: everything but instant, revision and kind as JSON text. */
export interface LogEntry {
  readonly at: number
  readonly rev: number
  readonly kind: string
  readonly layers: string
  readonly record: string
}

/** What the caller of a script says for the record. */
export type Recorded = Pick<StageChangeRecord, 'by' | 'replica' | 'evidence' | 'told'>

// In memory and in a file: less than in Redis, since it is written whole each time.
const mostEntries = 200
const mostBytes = 1_048_576

/** The text of a log, with one more entry: the newest 200, of at most 1 MiB. */
export function appended(text: string | undefined, entry: LogEntry): string {
  const lines = [...(text ? text.split('\n') : []), JSON.stringify(entry)].slice(-mostEntries)
  let bytes = lines.reduce((sum, line) => sum + line.length, 0)
  while (bytes > mostBytes && lines.length > 1) bytes -= (lines.shift() as string).length
  return lines.join('\n')
}

/** The latest entries, oldest first. KEYS: log. ARGV: at most how many. Returns five a change: instant, revision, kind, layers, record. */
export const historyScript: Script = {
  name: 'stages-history',
  lua: `local found = {}
local entries = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', ARGV[1])
for i = #entries, 1, -1 do
  local fields = entries[i][2]
  for j = 2, 10, 2 do found[#found + 1] = fields[j] end
end
return found`,
  local(memory, [log = ''], [limit]) {
    const lines = memory.get(log)?.split('\n') ?? []
    return lines.slice(-Number(limit)).flatMap((line) => {
      const { at, rev, kind, layers, record } = JSON.parse(line) as LogEntry
      return [String(at), String(rev), kind, layers, record]
    })
  },
}

/** What {@link historyScript} returned, as records. */
export function recordsFromReply(reply: readonly (number | string)[]): StageChangeRecord[] {
  const records: StageChangeRecord[] = []
  for (let index = 0; index + 4 < reply.length; index += 5) {
    const [at, rev, kind, layers, record] = reply.slice(index, index + 5).map(String) as [
      string,
      string,
      StageChangeRecord['kind'],
      string,
      string,
    ]
    const said = JSON.parse(record) as Recorded
    records.push({ at: Number(at), rev: Number(rev), kind, ...said, layers: JSON.parse(layers) as LayerChanges })
  }
  return records
}
