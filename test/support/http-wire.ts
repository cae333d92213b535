import type { Arrival, ByteReader } from './byte-reader.ts'

/** The head of an HTTP/1.1 message as it stood on the wire (RFC 9112). */
export interface Head {
  /** The request line or status line. */
  readonly start: string
  /** Header lines, untouched. */
  readonly lines: readonly string[]
  /** Names as written, values trimmed, in order, duplicates kept. */
  readonly rawHeaders: readonly (readonly [string, string])[]
  /** Lower-case names; several values joined with `, `. */
  readonly headers: Readonly<Record<string, string>>
}

/** Body bytes of one read; `chunk` counts the chunked frames they lay in, from 0 (always 0 without chunked coding). */
export interface BodyPart extends Arrival {
  readonly chunk: number
}

/** How a body came to its end: whole, cut off early, or not understood. */
export type BodyEnd = { readonly how: 'complete' | 'cut' | 'malformed'; readonly trailers: readonly string[] }

/** How long a body is: a count of bytes, chunked, or until the connection closes. */
export type Framing = number | 'chunked' | 'close'

/** Reads one message head; null when the socket ended before a whole one. Empty lines before it are skipped. */
export async function readHead(reader: ByteReader): Promise<Head | null> {
  let start = await reader.line()
  while (start === '') start = await reader.line()
  if (start === null) return null
  const lines: string[] = []
  for (;;) {
    const line = await reader.line()
    if (line === null) return null
    if (line === '') return { start, lines, ...headersFromLines(lines) }
    lines.push(line)
  }
}

/** Header lines taken apart. */
export function headersFromLines(lines: readonly string[]): Pick<Head, 'rawHeaders' | 'headers'> {
  const rawHeaders: [string, string][] = []
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon)
    const value = line.slice(colon + 1).trim()
    rawHeaders.push([name, value])
    const key = name.toLowerCase()
    headers[key] = key in headers ? `${headers[key]}, ${value}` : value
  }
  return { rawHeaders, headers }
}

/** The framing that the headers announce; `otherwise` where they announce none. */
export function framingFromHeaders(head: Head, otherwise: Framing): Framing {
  if (/(^|,)\s*chunked\s*$/i.test(head.headers['transfer-encoding'] ?? '')) return 'chunked'
  const length = head.headers['content-length']
  return length === undefined ? otherwise : Number(length)
}

/** Reads a body and hands every part to `take` as it arrives. */
export async function readBody(reader: ByteReader, framing: Framing, take: (part: BodyPart) => void): Promise<BodyEnd> {
  if (framing === 'chunked') return readChunked(reader, take)
  if (Number.isNaN(framing)) return { how: 'malformed', trailers: [] }
  const length = framing === 'close' ? Number.POSITIVE_INFINITY : framing
  const whole = await readParts(reader, { length, chunk: 0 }, take)
  return { how: whole || framing === 'close' ? 'complete' : 'cut', trailers: [] }
}

async function readParts(
  reader: ByteReader,
  { length, chunk }: { length: number; chunk: number },
  take: (part: BodyPart) => void,
): Promise<boolean> {
  let left = length
  while (left > 0) {
    const arrival = await reader.some(left)
    if (!arrival) return false
    left -= arrival.bytes.length
    take({ ...arrival, chunk })
  }
  return true
}

async function readChunked(reader: ByteReader, take: (part: BodyPart) => void): Promise<BodyEnd> {
  const trailers: string[] = []
  for (let chunk = 0; ; chunk++) {
    const line = await reader.line()
    if (line === null) return { how: 'cut', trailers }
    if (!/^[0-9a-f]+\s*(;.*)?$/i.test(line)) return { how: 'malformed', trailers }
    const length = Number.parseInt(line, 16)
    if (length === 0) break
    if (!(await readParts(reader, { length, chunk }, take))) return { how: 'cut', trailers }
    const end = await reader.line()
    if (end !== '') return { how: end === null ? 'cut' : 'malformed', trailers }
  }
  for (;;) {
    const line = await reader.line()
    if (line === null) return { how: 'cut', trailers }
    if (line === '') return { how: 'complete', trailers }
    trailers.push(line)
  }
}
