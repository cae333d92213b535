import type { Gate } from './gate.ts'

/** Header fields to send: by name (a list sends the name once per value), or pairs in exact order and case. */
export type HeaderInput = Readonly<Record<string, string | readonly string[]>> | readonly (readonly [string, string])[]

/** One thing the upstream does while it answers. */
export type Step =
  | { readonly kind: 'pieces'; readonly pieces: readonly Buffer[]; readonly frames: 'each' | 'one' }
  | { readonly kind: 'torn'; readonly bytes: Buffer; readonly claimed: number }
  | { readonly kind: 'raw'; readonly pieces: readonly Buffer[] }
  | { readonly kind: 'pour'; readonly source: () => Iterable<Buffer> | AsyncIterable<Buffer> }
  | { readonly kind: 'stall'; readonly gate?: Gate | undefined }
  | { readonly kind: 'delay'; readonly ms: number }
  | { readonly kind: 'reset' }
  | { readonly kind: 'fin' }

/** A content coding that the upstream can stream with, flushed after each event. */
export type Coding = 'gzip' | 'br' | 'zstd'

/** What a reply is made of. */
export interface ReplyParts {
  /** Absent when the reply has no HTTP head: only raw bytes, a reset or a FIN. */
  readonly head?: {
    readonly status: number
    readonly reason: string
    readonly headers: readonly (readonly [string, string])[]
  }
  readonly framing: 'chunked' | 'length' | 'close'
  readonly coding?: Coding | undefined
  readonly trailers: readonly (readonly [string, string])[]
  readonly steps: readonly Step[]
}

/** An answer of the scripted upstream, as data. Each word makes a new reply, so one may be sent many times. */
export interface Reply extends ReplyParts {
  /** Body bytes: one segment, one chunked frame, per piece. */
  send(...pieces: Bytes[]): Reply
  /** Body bytes in one chunked frame that is cut over several segments. */
  cut(...pieces: Bytes[]): Reply
  /** A chunked frame that promises more bytes than it brings; put `.fin()`, `.reset()` or `.stall()` behind it. */
  torn(bytes: Bytes): Reply
  /** Bytes past all framing and coding, a segment per piece. */
  raw(...pieces: Bytes[]): Reply
  /** Many body bytes as fast as the reader takes them, without gaps: for big bodies. */
  pour(source: () => Iterable<Buffer> | AsyncIterable<Buffer>): Reply
  /** Waits for the gate, or without one for `upstream.release()`. */
  stall(gate?: Gate): Reply
  /** Waits, in milliseconds: an upstream that takes its time. */
  delay(ms: number): Reply
  /** Resets the connection (RST). Nothing follows. */
  reset(): Reply
  /** Half-closes the connection (FIN) without an end of the body. Nothing follows. */
  fin(): Reply
  /** Frames the body by Content-Length: the sum of what is sent, unless a header says another. */
  length(): Reply
  /** Frames the body by closing the connection. */
  untilClose(): Reply
  /** Compresses the body, flushed after every piece, and adds `Content-Encoding`. */
  compress(coding: Coding): Reply
  /** Trailer fields behind a chunked body. */
  trailer(headers: HeaderInput): Reply
}

/** Text (sent as UTF-8) or bytes. */
export type Bytes = string | Uint8Array

/** A reply with a head; its body is chunked unless told otherwise. `reason` defaults to a fixed word. */
export function reply(status = 200, headers: HeaderInput = {}, reason = status < 400 ? 'OK' : 'Fault'): Reply {
  return replyFromParts({
    head: { status, reason, headers: pairsFromHeaders(headers) },
    framing: 'chunked',
    trailers: [],
    steps: [],
  })
}

/** A reply that sends exactly these bytes, a segment per piece, and nothing of its own: not even a status line. */
export function rawReply(...pieces: Bytes[]): Reply {
  return replyFromParts({ framing: 'close', trailers: [], steps: [] }).raw(...pieces)
}

/** A JSON reply framed by Content-Length. */
export function json(value: unknown, status = 200, headers: HeaderInput = {}): Reply {
  const all = [['Content-Type', 'application/json'] as const, ...pairsFromHeaders(headers)]
  return reply(status, all).send(JSON.stringify(value)).length()
}

/** Header fields as pairs. */
export function pairsFromHeaders(headers: HeaderInput): readonly (readonly [string, string])[] {
  if (Array.isArray(headers)) return headers as readonly (readonly [string, string])[]
  return Object.entries(headers as Record<string, string | readonly string[]>).flatMap(([name, value]) =>
    typeof value === 'string' ? [[name, value] as const] : value.map((one) => [name, one] as const),
  )
}

/** Text as UTF-8 bytes; bytes as they are. */
export function bytesFrom(bytes: Bytes): Buffer {
  return typeof bytes === 'string' ? Buffer.from(bytes) : Buffer.from(bytes)
}

function replyFromParts(parts: ReplyParts): Reply {
  const but = (change: Partial<ReplyParts>) => replyFromParts({ ...parts, ...change })
  const then = (step: Step) => but({ steps: [...parts.steps, step] })
  return {
    ...parts,
    send: (...pieces) => then({ kind: 'pieces', pieces: pieces.map(bytesFrom), frames: 'each' }),
    cut: (...pieces) => then({ kind: 'pieces', pieces: pieces.map(bytesFrom), frames: 'one' }),
    torn: (bytes) => then({ kind: 'torn', bytes: bytesFrom(bytes), claimed: bytesFrom(bytes).length + 64 }),
    raw: (...pieces) => then({ kind: 'raw', pieces: pieces.map(bytesFrom) }),
    pour: (source) => then({ kind: 'pour', source }),
    stall: (gate) => then({ kind: 'stall', gate }),
    delay: (ms) => then({ kind: 'delay', ms }),
    reset: () => then({ kind: 'reset' }),
    fin: () => then({ kind: 'fin' }),
    length: () => but({ framing: 'length' }),
    untilClose: () => but({ framing: 'close' }),
    compress: (coding) => but({ coding }),
    trailer: (headers) => but({ trailers: [...parts.trailers, ...pairsFromHeaders(headers)] }),
  }
}
