import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { GatewayError } from '../plugins/errors.ts'
import { Receiver } from './receiver.ts'

/** One request to a runner. */
export interface Outgoing {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** Names and values in turn. */
  readonly headers: string[]
  readonly body?: Buffer
  /** Aborts the request in every phase, queued or half answered. */
  readonly signal: AbortSignal
  /** Absent: the dispatcher's own time-outs hold. */
  readonly patience?: Patience
}

/** How long an answer may take, in milliseconds: until the first byte of its body, head included, and between two of them. */
export interface Patience {
  readonly firstByteMs: number
  readonly idleMs: number
}

/** A dispatch handler that wants to know whether its request went out on a connection that had served others before. */
export interface ReuseWatch {
  reused: boolean
}

/** A runner's answer: its head, and a body that is read once. */
export interface Exchange {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** Reading slowly pauses the socket; leaving early closes it. Throws {@link GatewayError}. */
  readonly body: AsyncIterable<Buffer>
  /** The body read to its end, in place of `body`. Throws `runner_protocol` when it is longer than `maxBytes`. */
  whole(maxBytes: number): Promise<Buffer>
  /** The first byte of the body that is not white space, once it is there; -1 for an empty body. Takes nothing away. */
  firstByte(): Promise<number>
  /** Trailers, names in lower case; empty before the body has ended. */
  readonly trailers: IncomingHttpHeaders
  /** Gives the exchange up; a body that was not read to its end takes its socket with it. */
  drop(): void
}

/** Sends one request and resolves when the head of the answer is there. Throws `runner_*` or `client_closed`. */
export function send(dispatcher: Dispatcher, outgoing: Outgoing): Promise<Exchange> {
  return dispatched(dispatcher, outgoing).exchange
}

/**
 * As {@link send}, and once more when a connection that had served before broke without a byte of an answer: the other side was most
 * likely closing it as we wrote. A new connection that breaks is the runner's fault and not tried again here. `anew` makes the request of
 * the second time, where no two may be alike.
 */
export async function sendFresh(
  dispatcher: Dispatcher,
  outgoing: Outgoing,
  anew: () => Outgoing = () => outgoing,
): Promise<Exchange> {
  const first = dispatched(dispatcher, outgoing)
  try {
    return await first.exchange
  } catch (reason) {
    const { reused, answered } = first.receiver
    if (!reused || answered || !isBroken(reason) || outgoing.signal.aborted) throw reason
    return await send(dispatcher, anew())
  }
}

const broken = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

function isBroken(reason: unknown): boolean {
  const cause = reason instanceof GatewayError ? (reason.cause as NodeJS.ErrnoException | undefined) : undefined
  return broken.has(cause?.code ?? '')
}

function dispatched(dispatcher: Dispatcher, outgoing: Outgoing): { exchange: Promise<Exchange>; receiver: Receiver } {
  const { promise, resolve, reject } = Promise.withResolvers<Exchange>()
  const receiver = new Receiver(outgoing, resolve, reject)
  const { method, path, headers, body, signal, patience } = outgoing
  // Which of its two time-outs holds inside a body, the dispatcher cannot know: the receiver counts by itself.
  const own = patience ? { headersTimeout: patience.firstByteMs, bodyTimeout: 0 } : {}
  if (signal.aborted) receiver.abort()
  else dispatcher.dispatch({ method, path, headers, body: body ?? null, ...own }, receiver)
  return { exchange: promise, receiver }
}
