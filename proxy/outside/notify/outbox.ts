import { setTimeout as pause } from 'node:timers/promises'

/** What came of one try: it is done, worth another try, or hopeless. */
export type Try =
  | { readonly done: true }
  | { readonly done: false; readonly again: boolean; readonly words: string; readonly afterMs?: number }

/** How things leave an outbox. */
export interface OutboxParts<Item> {
  /** One try. What it throws is a try that is worth another. */
  send(item: Item, signal: AbortSignal): Promise<Try>
  /** Hears of every item that was given up, with the reason in words. */
  lost(item: Item, words: string): void
  /** Most items that wait; the oldest goes when there are more. */
  readonly room: number
  /** Most tries of one item; default 6. */
  readonly tries?: number
  /** Waits, in milliseconds, or until the signal; default a timer that keeps no process alive. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<unknown>
  /** Between 0 and 1; default `Math.random`. */
  readonly random?: () => number
}

/** Sends things one after the other, in order, beside everything else. */
export interface Outbox<Item> {
  /** Never waits and never throws. */
  put(item: Item): void
  readonly waiting: number
  /** Resolves when nothing waits and nothing is under way. */
  settled(): Promise<void>
  /** Gives up what is left, and tells `lost` of it. */
  close(): void
}

const firstPauseMs = 1_000
const longestPauseMs = 60_000

/** Makes an {@link Outbox}. Tries are 1, 2, 4 … seconds apart, at most a minute, each shortened by up to half at random. */
export function createOutbox<Item>(parts: OutboxParts<Item>): Outbox<Item> {
  const queue: Item[] = []
  const closing = new AbortController()
  let worker: Promise<void> | undefined
  const run = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
      const fault = await deliver(item, parts, closing.signal)
      if (fault !== undefined) parts.lost(item, fault)
    }
    // In the same turn as the last look at the queue: what is put from now on starts the next one.
    worker = undefined
  }
  return {
    put(item) {
      if (closing.signal.aborted) return parts.lost(item, 'it is closed')
      queue.push(item)
      const oldest = queue.length > parts.room ? queue.shift() : undefined
      if (oldest !== undefined) parts.lost(oldest, `${parts.room} are waiting already`)
      worker ??= run()
    },
    get waiting() {
      return queue.length
    },
    settled: async () => {
      while (worker) await worker
    },
    close() {
      closing.abort()
      for (const item of queue.splice(0)) parts.lost(item, 'it is closed')
    },
  }
}

/** Why it was given up; undefined when it arrived. */
async function deliver<Item>(item: Item, parts: OutboxParts<Item>, signal: AbortSignal): Promise<string | undefined> {
  const { tries = 6, wait = patience, random = Math.random } = parts
  for (let made = 1; ; made++) {
    const result = await attempt(item, parts, signal)
    if (result.done) return undefined
    if (signal.aborted) return 'it is closed'
    if (!result.again) return result.words
    if (made >= tries) return `${result.words}, ${made} times`
    const backOff = Math.min(longestPauseMs, firstPauseMs * 2 ** (made - 1)) * (1 - random() / 2)
    await wait(Math.min(longestPauseMs, Math.max(backOff, result.afterMs ?? 0)), signal).catch(() => undefined)
    if (signal.aborted) return 'it is closed'
  }
}

async function attempt<Item>(item: Item, { send }: OutboxParts<Item>, signal: AbortSignal): Promise<Try> {
  try {
    return await send(item, signal)
  } catch (reason) {
    return { done: false, again: true, words: reason instanceof Error ? reason.message : 'it failed' }
  }
}

function patience(ms: number, signal: AbortSignal): Promise<unknown> {
  return pause(ms, undefined, { signal, ref: false })
}
