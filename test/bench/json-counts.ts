import type { RunningProcess } from '../support/processes.ts'

/** How often texts of the size of bodies were parsed and written. */
export interface JsonCounts {
  readonly parses: number
  readonly writes: number
}

/** Flags for Node that count what JSON a process reads and writes. */
export const countingJson: readonly string[] = ['--import', new URL('json-counter.ts', import.meta.url).href]

/** Asks a process that was started with {@link countingJson}, again and again: what it counted since it was asked before. */
export function createJsonCounts(process: RunningProcess): () => Promise<JsonCounts> {
  let times = 0
  return async () => {
    times++
    process.signal('SIGALRM')
    const [, counts = '{}'] = await process.shows(new RegExp(`json ${times} (.*)`))
    return JSON.parse(counts) as JsonCounts
  }
}
