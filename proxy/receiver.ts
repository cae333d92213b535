import type { IncomingHttpHeaders } from 'node:http'
import { type Dispatcher, errors } from 'undici'
import { type GatewayError, gatewayError } from '../plugins/errors.ts'
import type { Exchange, Outgoing, Patience, ReuseWatch } from './exchange.ts'
import { runnerError } from './runner-error.ts'

// Bytes that may wait in memory for a slow reader before the runner's socket is paused.
const highWater = 256 * 1024
// Bytes that are taken apart without letting others have a turn.
const oneTurn = 32 * 1024

// A class because it holds a socket: undici calls its methods, and its body is pulled from.
/** Takes one answer from undici, and gives its body to whoever pulls. */
export class Receiver implements Dispatcher.DispatchHandler, ReuseWatch, Exchange {
  reused = false
  status = 0
  headers: IncomingHttpHeaders = {}
  trailers: IncomingHttpHeaders = {}
  /** A byte of an answer has come. */
  answered = false
  readonly #signal: AbortSignal
  readonly #patience: Patience | undefined
  readonly #resolve: (exchange: Exchange) => void
  readonly #reject: (error: GatewayError) => void
  #controller: Dispatcher.DispatchController | undefined
  #queue: Buffer[] = []
  #queued = 0
  #ended = false
  #error: GatewayError | undefined
  #wake: (() => void) | undefined
  #startedAt = 0
  #begun = false
  #collecting = false
  #silence: NodeJS.Timeout | undefined
  #silenceAfterBegin = false
  readonly #onAbort = (): void => this.abort()

  constructor(
    { signal, patience }: Outgoing,
    resolve: (exchange: Exchange) => void,
    reject: (error: GatewayError) => void,
  ) {
    this.#signal = signal
    this.#patience = patience
    this.#resolve = resolve
    this.#reject = reject
    signal.addEventListener('abort', this.#onAbort)
  }

  abort(): void {
    if (this.#ended) return
    this.#fail(gatewayError('client_closed', 'the call was given up'))
    this.#controller?.abort(new errors.RequestAbortedError())
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    this.#startedAt = performance.now()
    if (this.#ended) controller.abort(new errors.RequestAbortedError())
  }
  onResponseStarted(): void {
    this.answered = true
  }
  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return
    this.status = status
    this.headers = headers
    this.#resolve(this)
  }
  onResponseData(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    this.#queue.push(bytes)
    this.#queued += bytes.length
    this.#begun = true
    if (this.#queued > highWater && !this.#collecting) controller.pause()
    this.#wake?.()
  }
  onResponseEnd(_: Dispatcher.DispatchController, trailers: IncomingHttpHeaders): void {
    this.trailers = trailers
    this.#settle()
    this.#wake?.()
  }
  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#fail(runnerError(error))
  }

  #settle(): void {
    this.#ended = true
    clearTimeout(this.#silence)
    this.#signal.removeEventListener('abort', this.#onAbort)
  }
  /** The runner is waited for from now on; a caller who reads slowly is not its fault. */
  #expect({ firstByteMs, idleMs }: Patience): void {
    if (this.#silence && this.#silenceAfterBegin === this.#begun) return void this.#silence.refresh()
    clearTimeout(this.#silence)
    this.#silenceAfterBegin = this.#begun
    const ms = this.#begun ? idleMs : firstByteMs - (performance.now() - this.#startedAt)
    this.#silence = setTimeout(() => this.#silent(), ms)
  }
  #silent(): void {
    if (!this.#wake) return
    this.#fail(
      this.#begun
        ? gatewayError('runner_timeout', 'the runner fell silent in the middle of its answer')
        : gatewayError('runner_timeout', 'the runner did not begin to answer in time'),
    )
    this.#controller?.abort(new errors.BodyTimeoutError())
  }

  #fail(error: GatewayError): void {
    if (this.#ended) return
    this.#settle()
    this.#error = error
    this.#reject(error)
    this.#wake?.()
  }

  get body(): AsyncIterable<Buffer> {
    return this.#parts()
  }
  drop(): void {
    this.abort()
  }
  async *#parts(): AsyncGenerator<Buffer> {
    try {
      for (;;) {
        if (this.#queued > 0) yield this.#take()
        else if (this.#error) throw this.#error
        else if (this.#ended) return
        else await this.#more()
      }
    } finally {
      // Whoever stops reading early gives the exchange up.
      this.abort()
    }
  }
  whole(maxBytes: number): Promise<Buffer> {
    this.#collecting = true
    if (this.#controller?.paused) this.#controller.resume()
    return new Promise((resolve, reject) => this.#collect(maxBytes, resolve, reject))
  }
  #collect(maxBytes: number, resolve: (body: Buffer) => void, reject: (error: unknown) => void): void {
    if (this.#error) return void reject(this.#error)
    if (this.#queued > maxBytes) {
      this.abort()
      return void reject(gatewayError('runner_protocol', `the runner's answer is longer than ${maxBytes} bytes`))
    }
    if (!this.#ended) return void this.#whenMore(() => this.#collect(maxBytes, resolve, reject))
    resolve(this.#queue.length === 1 ? (this.#queue[0] as Buffer) : Buffer.concat(this.#queue, this.#queued))
  }
  async firstByte(): Promise<number> {
    for (;;) {
      for (const bytes of this.#queue) for (const byte of bytes) if (byte > 0x20) return byte
      if (this.#error) throw this.#error
      if (this.#ended || this.#queued > highWater) return -1
      await this.#more()
    }
  }
  /** What waits, joined: many small reads cost one turn, but no turn gets more than others can wait for. */
  #take(): Buffer {
    let count = 1
    let length = this.#queue[0]?.length ?? 0
    while (count < this.#queue.length && length < oneTurn) length += this.#queue[count++]?.length ?? 0
    const parts = this.#queue.splice(0, count)
    this.#queued -= length
    if (this.#controller?.paused && this.#queued <= highWater) {
      this.#controller.resume()
    }
    return count === 1 ? (parts[0] as Buffer) : Buffer.concat(parts, length)
  }
  #more(): Promise<void> {
    return new Promise((resolve) => this.#whenMore(resolve))
  }
  #whenMore(then: () => void): void {
    if (this.#patience) this.#expect(this.#patience)
    this.#wake = () => {
      this.#wake = undefined
      then()
    }
  }
}
