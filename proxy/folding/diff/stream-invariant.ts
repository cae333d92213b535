import { sha256 } from '../../../plugins/canonical.ts'

/** What holds of every whole stream of chunks (OpenAI), in the order of the design: the first is number 1. */
export const invariants = [
  'event-parses', // every event is a chunk, and characters are whole
  'one-head', // one id, one model, one instant
  'role-first', // a choice's role comes at most once, and first
  'indices', // choices and tool calls count from 0 without gaps; arguments add up to JSON
  'one-finish', // every choice finishes once, and only usage comes after
  'usage-as-asked', // usage comes when it was asked for, and not otherwise
  'end-mark', // [DONE] ends the stream, once, where the dialect has it
  'idle-gap', // nothing waits longer than the idle timeout
  'abort-propagates', // when the caller goes away, so does the call to the runner
  'bytes-delivered', // what was produced was delivered
] as const

/** An invariant of the list above. */
export type Invariant = (typeof invariants)[number]

/** An invariant that a stream broke; only the first time of each is kept. */
export interface Broken {
  readonly invariant: Invariant
  /** In what way: one of a few words, never anything of the stream. */
  readonly detail: string
  /** Names all streams that broke the same in the same way; 16 hex digits. */
  readonly signature: string
}

/** Collects what a stream breaks. */
export interface Breaks {
  readonly list: readonly Broken[]
  note(invariant: Invariant, detail: string): void
  has(invariant: Invariant): boolean
}

/** Makes {@link Breaks}. */
export function createBreaks(): Breaks {
  const list: Broken[] = []
  const has = (invariant: Invariant): boolean => list.some((each) => each.invariant === invariant)
  return {
    list,
    has,
    note(invariant, detail) {
      if (has(invariant)) return
      list.push({ invariant, detail, signature: sha256(`stream|${invariant}|${detail}`).slice(0, 16) })
    },
  }
}
