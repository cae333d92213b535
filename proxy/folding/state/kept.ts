import type { Log } from '../../../plugins/host.ts'
import type { Memory } from '../../../plugins/store.ts'
import { emptyDocument } from './document.ts'
import { createDurableFile } from './durable-file.ts'
import { documentFromText, stateKeys } from './scripts.ts'
import type { Timers } from './timers.ts'

/** Values of this process, some of which outlive it. */
export interface Kept {
  readonly memory: Memory
  /** Does something to the values, whole or not at all: false when it could not be written down, and then nothing has changed. */
  change(action: (memory: Memory) => void): boolean
}

/** What values are kept in. */
export interface KeptParts {
  /** The file that outlives the process; without one nothing does. */
  readonly path?: string
  readonly timers: Timers
  readonly log: Log
  /** The keys that are written down. */
  readonly durable: readonly string[]
}

/** Why nothing is promoted after a file could not be read. */
export const fileCorrupt = 'the file of the stages could not be read; what it said is not known any more'

/**
 * Makes {@link Kept} from its file. A file that is there and cannot be made sense of is put aside, said in the log, and followed by a fresh
 * state that is held until a person has looked.
 */
export function createKept({ path, timers, log, durable }: KeptParts): Kept {
  const file = path === undefined ? undefined : createDurableFile(path)
  const values = new Map<string, string>()
  const memory = memoryOver(values, timers)
  let written: string | undefined
  const change = (action: (memory: Memory) => void): boolean => {
    const before = new Map(values)
    try {
      action(memory)
      const text = textFrom(values, durable)
      if (text !== written) file?.write(text)
      written = text
      return true
    } catch (reason) {
      values.clear()
      for (const [key, value] of before) values.set(key, value)
      log.error({ reason: wordsOf(reason), path }, 'the stages cannot be written down; the change is refused')
      return false
    }
  }
  if (!file) return { memory, change }
  try {
    for (const [key, value] of Object.entries(valuesFromText(file.read()))) values.set(key, value)
  } catch (reason) {
    log.error({ reason: wordsOf(reason), path }, fileCorrupt)
    file.putAside()
    change(() => memory.set(stateKeys.state, JSON.stringify({ ...emptyDocument, rev: 1, hold: fileCorrupt })))
  }
  return { memory, change }
}

function memoryOver(values: Map<string, string>, timers: Timers): Memory {
  return {
    get now() {
      return timers.now()
    },
    get: (key) => values.get(key),
    // Nothing here lives for a time only.
    set: (key, value) => void values.set(key, value),
    delete: (key) => void values.delete(key),
  }
}

function textFrom(values: ReadonlyMap<string, string>, durable: readonly string[]): string {
  const kept = durable.flatMap((key) => {
    const value = values.get(key)
    return value === undefined ? [] : [[key, value]]
  })
  return `${JSON.stringify({ version: 1, values: Object.fromEntries(kept) })}\n`
}

function valuesFromText(text: string | undefined): Record<string, string> {
  if (text === undefined) return {}
  const { version, values } = JSON.parse(text) as { version?: unknown; values?: Record<string, string> }
  const state = values?.[stateKeys.state]
  const sound = version === 1 && values && Object.values(values).every((value) => typeof value === 'string')
  if (!sound || (state !== undefined && !documentFromText(state))) throw new SyntaxError('it is not a file of stages')
  return values
}

const wordsOf = (reason: unknown): string => (reason instanceof Error ? reason.message.slice(0, 200) : 'unknown')
