import type { Ending } from './byte-reader.ts'
import { createGate, within } from './gate.ts'
import type { Head } from './http-wire.ts'
import type { Played } from './play.ts'

/** One request that the scripted upstream got, and what became of the answer. */
export interface Exchange extends Pick<Head, 'lines' | 'rawHeaders' | 'headers'> {
  /** Which request of this upstream, from 0. */
  readonly index: number
  /** Which connection of this upstream it came on, from 0. */
  readonly connection: number
  readonly method: string
  /** The request target exactly as it stood on the wire. */
  readonly path: string
  /** Body bytes, without chunked framing; grows until `complete`. */
  readonly body: Buffer
  readonly complete: boolean
  /** Trailer lines of a chunked request. */
  readonly trailers: readonly string[]
  /** When the head was read, `performance.now()`. */
  readonly at: number
  /** Bytes written behind the head of the answer so far. */
  readonly sentBytes: number
  /** The body as JSON; throws when it is none. */
  json<T = any>(): T
  /** Resolves when the answer waits at its first stall. */
  stalled(): Promise<void>
  /** Resolves with how the answer ended. */
  played(): Promise<Played>
  /** Resolves when the connection that this request came on is over, with who ended it and when. */
  closed(waitMs?: number): Promise<{ readonly how: Ending; readonly at: number }>
}

/** The upstream's own view of an exchange: what it fills in as it goes. */
export interface OpenExchange {
  readonly view: Exchange
  take(bytes: Buffer): void
  finish(trailers: readonly string[]): void
  sent(bytes: number): void
  stall(): void
  play(how: Played): void
}

/** Where a request stands: its place in the upstream's log and the connection under it. */
export interface Place {
  readonly index: number
  readonly connection: number
  readonly closed: Promise<{ readonly how: Ending; readonly at: number }>
}

/** An exchange from the head of its request on. */
export function openExchange(head: Head, place: Place): OpenExchange {
  const [method = '', path = ''] = head.start.split(' ')
  const stalled = createGate()
  const { promise: played, resolve: play } = Promise.withResolvers<Played>()
  const pieces: Buffer[] = []
  const name = `request ${place.index} (${method} ${path})`
  const state = { complete: false, trailers: [] as readonly string[], sentBytes: 0 }
  const view: Exchange = {
    index: place.index,
    connection: place.connection,
    lines: head.lines,
    rawHeaders: head.rawHeaders,
    headers: head.headers,
    method,
    path,
    at: performance.now(),
    get body() {
      return Buffer.concat(pieces)
    },
    get complete() {
      return state.complete
    },
    get trailers() {
      return state.trailers
    },
    get sentBytes() {
      return state.sentBytes
    },
    json: () => JSON.parse(Buffer.concat(pieces).toString()),
    stalled: () => within(stalled.opened, () => `the answer to ${name} stalls`),
    played: () => within(played, () => `the answer to ${name} is played`),
    closed: (waitMs) => within(place.closed, () => `the connection of ${name} closes`, waitMs),
  }
  return {
    view,
    play,
    stall: stalled.open,
    take: (bytes) => void pieces.push(bytes),
    sent(bytes) {
      state.sentBytes += bytes
    },
    finish: (trailers) => Object.assign(state, { complete: true, trailers }),
  }
}
