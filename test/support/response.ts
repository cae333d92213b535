import type { Arrival, ByteReader } from './byte-reader.ts'
import { within } from './gate.ts'
import { createGathering } from './gather.ts'
import { type BodyPart, framingFromHeaders, type Head, readBody, readHead } from './http-wire.ts'
import { type SseEvent, sseEvents } from './sse-events.ts'

/** How a response ended: whole, cut off by a FIN, reset, or not understood; and when. */
export interface ResponseEnd {
  readonly how: 'complete' | 'cut' | 'reset' | 'malformed'
  readonly at: number
  readonly trailers: readonly string[]
}

/** A response on its way: the head is there, the body grows. */
export interface LiveResponse extends Head {
  readonly status: number
  readonly reason: string
  /** When its head was read, `performance.now()`. */
  readonly at: number
  /** 1xx responses that came before it. */
  readonly informational: readonly Head[]
  /** Body bytes, one item per read of the socket and chunked frame. */
  readonly parts: readonly BodyPart[]
  /** Body bytes, one item per chunked frame. */
  readonly chunks: readonly Buffer[]
  readonly body: Buffer
  readonly bytesReceived: number
  readonly text: string
  /** Events of the body so far, read strictly. */
  readonly events: readonly SseEvent[]
  /** The body as JSON; throws when it is none. */
  json<T = any>(): T
  /** Part `index` of the body, as soon as it is there. */
  part(index: number): Promise<Arrival>
  /** Resolves when the body so far holds the text; rejects when the response ends, or the patience, without it. */
  shows(text: string): Promise<void>
  /** The end, without patience. */
  readonly over: Promise<ResponseEnd>
  /** Resolves when the response is over, however it ended; rejects after the rig's patience. */
  done(waitMs?: number): Promise<ResponseEnd>
}

/** How a response is read. */
export interface ReadingOptions {
  /** True for the answer to a HEAD request. */
  readonly headOnly?: boolean
  /** False: body bytes are counted and thrown away. */
  readonly keep?: boolean
}

/** The next response on a connection; resolves at its head, and with null when the connection ended before one. */
export async function readResponse(reader: ByteReader, options: ReadingOptions = {}): Promise<LiveResponse | null> {
  const informational: Head[] = []
  for (;;) {
    const head = await readHead(reader)
    if (!head) return null
    const [, code = '', reason = ''] = /^HTTP\/1\.[01] (\d{3}) ?(.*)$/.exec(head.start) ?? []
    const status = Number(code)
    if (status >= 200 || status === 101 || code === '') {
      return follow(reader, { ...head, status, reason, informational }, options)
    }
    informational.push(head)
  }
}

type Started = Head & Pick<LiveResponse, 'status' | 'reason' | 'informational'>

function follow(reader: ByteReader, started: Started, options: ReadingOptions): LiveResponse {
  const parts = createGathering<BodyPart>('part of the body')
  const state = { bytesReceived: 0, over: false }
  const bodiless = options.headOnly || started.status === 204 || started.status === 304
  const take = (part: BodyPart) => {
    state.bytesReceived += part.bytes.length
    parts.add(options.keep === false ? { ...part, bytes: Buffer.alloc(0) } : part)
  }
  const ended = readBody(reader, bodiless ? 0 : framingFromHeaders(started, 'close'), take).then(async (end) => {
    const reset = end.how === 'cut' || framingFromHeaders(started, 'close') === 'close' ? await reader.ending : 'fin'
    state.over = true
    return { ...end, how: reset === 'reset' ? 'reset' : end.how, at: performance.now() } satisfies ResponseEnd
  })
  const body = () => Buffer.concat(parts.items.map((part) => part.bytes))
  const shows = async (text: string) => {
    const there = parts.when(
      () => body().includes(text),
      () => `the body shows ${JSON.stringify(text)}; it is ${JSON.stringify(body().toString())}`,
    )
    const over = ended.then(({ how }) => {
      if (!body().includes(text)) throw new Error(`the body ended (${how}) without ${JSON.stringify(text)}: ${body()}`)
    })
    over.catch(() => {})
    there.catch(() => {})
    await Promise.race([there, over])
  }
  return Object.defineProperties({} as LiveResponse, {
    ...values({ ...started, at: performance.now(), parts: parts.items, part: parts.at, shows, over: ended }),
    ...values({ json: () => JSON.parse(body().toString()) }),
    ...values({
      done: (waitMs?: number) =>
        within(
          ended,
          () => `the response ends; ${state.bytesReceived} bytes of body so far: ${body().subarray(-500)}`,
          waitMs,
        ),
    }),
    chunks: { get: () => chunksFromParts(parts.items), enumerable: true },
    body: { get: body },
    bytesReceived: { get: () => state.bytesReceived },
    text: { get: () => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body()) },
    events: { get: () => sseEvents(body()) },
  })
}

const values = (fields: object): PropertyDescriptorMap =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, { value, enumerable: true }]))

function chunksFromParts(parts: readonly BodyPart[]): readonly Buffer[] {
  const chunks: Buffer[][] = []
  for (const part of parts) {
    chunks[part.chunk] ??= []
    chunks[part.chunk]!.push(part.bytes)
  }
  return chunks.map((pieces) => Buffer.concat(pieces))
}
