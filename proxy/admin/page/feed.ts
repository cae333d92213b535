import { PassThrough, type Readable } from 'node:stream'
import { gatewayError } from '../../../plugins/errors.ts'
import type { Actor } from '../operations.ts'
import type { PageSnapshot } from './page-snapshot.ts'

/** What is told to everybody who looks at the page: one snapshot a second is made for all of them, none while nobody looks. */
export interface Feed {
  /** Server-sent events for one of them, until `signal` aborts. Throws `no_capacity` when there are too many. */
  open(viewer: Actor, signal: AbortSignal): Readable
  /** How many look. */
  readonly size: number
}

/** What a feed is made with. Times in milliseconds. */
export interface FeedParts {
  snapshot(): Promise<PageSnapshot>
  /** Between two looks; an event at most. Default 1,000. */
  readonly everyMs?: number
  /** After so long an event comes though nothing has changed. Default 5,000. */
  readonly quietMs?: number
  /** After so long a stream ends, and who still looks asks again: a token that was taken away counts then. Default 300,000. */
  readonly lifeMs?: number
}

/** People who look at a time. */
const mostViewers = 50
/** What may wait for somebody who does not read: then snapshots are left out. */
const mostWaiting = 262_144

interface Looking {
  readonly stream: PassThrough
  readonly until: number
}

/** Makes a {@link Feed}. */
export function createFeed({ snapshot, everyMs = 1_000, quietMs = 5_000, lifeMs = 300_000 }: FeedParts): Feed {
  const all = new Set<Looking>()
  /** Set between two looks; none is under way then. */
  let timer: NodeJS.Timeout | undefined
  let turning = false
  let last = { key: '', event: '', at: 0 }
  const look = async (): Promise<void> => {
    const taken = await snapshot()
    const key = JSON.stringify({ ...taken, at: 0 })
    const now = performance.now()
    if (key === last.key && now - last.at < quietMs) return
    last = { key, event: eventOf('snapshot', taken), at: now }
    for (const { stream } of all) if (stream.writableLength < mostWaiting) stream.write(last.event)
  }
  const turn = async (): Promise<void> => {
    timer = undefined
    const now = performance.now()
    for (const each of all) if (each.until <= now) each.stream.end()
    await look().catch(() => undefined)
    turning = all.size > 0
    if (turning) timer = setTimeout(turn, everyMs)
  }
  const leave = (one: Looking): void => {
    all.delete(one)
    if (all.size > 0) return
    if (timer !== undefined) turning = false
    clearTimeout(timer)
    timer = undefined
    last = { key: '', event: '', at: 0 }
  }
  return {
    get size() {
      return all.size
    },
    open(viewer, signal) {
      if (all.size >= mostViewers)
        throw gatewayError('no_capacity', 'too many look at the page already', { retryAfterMs: 5_000 })
      const one: Looking = { stream: new PassThrough(), until: performance.now() + lifeMs }
      one.stream.once('close', () => leave(one))
      signal.addEventListener('abort', () => one.stream.end(), { once: true })
      one.stream.write(`retry: 1000\n\n${eventOf('viewer', viewer)}${last.event}`)
      all.add(one)
      if (!turning) timer = setTimeout(turn, 0)
      turning = true
      return one.stream
    },
  }
}

function eventOf(name: string, data: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
}
