import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import type { GatewayError } from '../plugins/errors.ts'
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
  return new Promise((resolve, reject) => dispatch(dispatcher, outgoing, new Receiver(outgoing, resolve, reject)))
}

/**
 * As {@link send}, and once more when a connection that had served before broke without a byte of an answer: the other side was most
 * likely closing it as we wrote. A new connection that breaks is the runner's fault and not tried again here. `anew` makes the request of
 * the second time, where no two may be alike.
 */
export function sendFresh(
  dispatcher: Dispatcher,
  outgoing: Outgoing,
  anew: () => Outgoing = () => outgoing,
): Promise<Exchange> {
  return new Promise((resolve, reject) => {
    const receiver = new Receiver(outgoing, resolve, (reason) => {
      const wasClosing = receiver.reused && !receiver.answered && isBroken(reason) && !outgoing.signal.aborted
      if (!wasClosing) return void reject(reason)
      // Not in this turn: the dispatcher is still busy with the connection that broke.
      resolve(Promise.resolve().then(() => send(dispatcher, anew())))
    })
    dispatch(dispatcher, outgoing, receiver)
  })
}

const broken = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

function isBroken({ cause }: GatewayError): boolean {
  return broken.has((cause as NodeJS.ErrnoException | undefined)?.code ?? '')
}

function dispatch(dispatcher: Dispatcher, outgoing: Outgoing, receiver: Receiver): void {
  const { method, path, headers, body = null, signal, patience } = outgoing
  if (signal.aborted) return void receiver.abort()
  // Which of its two time-outs holds inside a body, the dispatcher cannot know: the receiver counts by itself.
  const own = patience ? { headersTimeout: patience.firstByteMs, bodyTimeout: 0 } : undefined
  dispatcher.dispatch({ method, path, headers, body, ...own }, receiver)
}
