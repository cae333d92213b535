import { StringDecoder } from 'node:string_decoder'
import { createParser } from 'eventsource-parser'
import { gatewayError } from './errors.ts'

/** The longest server-sent event that is accepted, in bytes, unless told otherwise: 16 MiB. */
export const defaultMaxEventBytes = 16 * 1024 * 1024

/** One server-sent event (WHATWG HTML §9.2). */
export interface SseEvent {
  readonly event?: string | undefined
  readonly id?: string | undefined
  readonly data: string
}

/** What one read of a stream brought: whole events, and whether a comment (a heartbeat) was among it. */
export interface SseBatch {
  readonly events: readonly SseEvent[]
  readonly commented: boolean
}

/** Turns bytes into events, whatever the cuts between reads. */
export interface SseReader {
  /** Throws `runner_protocol` once a line or an event outgrows the cap. */
  push(bytes: Buffer): SseBatch
  /** What was left without its blank line when the stream ended. */
  end(): SseBatch
}

/** Makes an {@link SseReader}. LF, CRLF and CR end lines; a character may straddle reads; cost is linear. */
export function createSseReader(maxEventBytes: number = defaultMaxEventBytes): SseReader {
  const decoder = new StringDecoder('utf8')
  let events: SseEvent[] = []
  let commented = false
  let overflow = false
  let quiet = 0
  const parser = createParser({
    maxBufferSize: maxEventBytes,
    onEvent: (event) => events.push(event),
    onComment: () => {
      commented = true
    },
    onError: (error) => {
      overflow ||= error.type === 'max-buffer-size-exceeded'
    },
  })
  const take = (text: string): SseBatch => {
    parser.feed(text)
    // The parser throws lines away that can become nothing, however long they are; an endless one must end the stream all the same.
    quiet = events.length > 0 || commented ? 0 : quiet + text.length
    if (overflow || quiet > maxEventBytes + slack)
      throw gatewayError('runner_protocol', `an event of the runner is longer than ${maxEventBytes} bytes`)
    const batch = { events, commented }
    events = []
    commented = false
    return batch
  }
  return { push: (bytes) => take(decoder.write(bytes)), end: () => take(`${decoder.end()}\n\n`) }
}

// Field names and line ends beside an event's data.
const slack = 4096

/** An event as bytes on the wire. */
export function textFromEvent({ event, id, data }: SseEvent): string {
  const head = `${event === undefined ? '' : `event: ${event}\n`}${id === undefined ? '' : `id: ${id}\n`}`
  return data.includes('\n') ? `${head}data: ${data.replaceAll('\n', '\ndata: ')}\n\n` : `${head}data: ${data}\n\n`
}

/** The end mark of an OpenAI stream. */
export const doneText = 'data: [DONE]\n\n'

/** A heartbeat: a comment without a blank line after it, since some clients dispatch an empty event at the blank line. */
export const heartbeatText = ':\n'

/**
 * Passes an event stream through untouched, but only ever cut between events, so that an error can be said in band at any
 * time. Nothing is parsed. Throws `runner_protocol` when one event outgrows the cap.
 */
export function createEventAligner(maxEventBytes: number = defaultMaxEventBytes): EventAligner {
  let held: Buffer[] = []
  let heldBytes = 0
  return {
    push(bytes) {
      const end = endOfLastEvent(bytes, held)
      if (end === 0) {
        held.push(bytes)
        heldBytes += bytes.length
        if (heldBytes > maxEventBytes) {
          throw gatewayError('runner_protocol', `an event of the runner is longer than ${maxEventBytes} bytes`)
        }
        return undefined
      }
      const whole = end === bytes.length ? bytes : bytes.subarray(0, end)
      const out = held.length === 0 ? whole : Buffer.concat([...held, whole])
      held = end === bytes.length ? [] : [bytes.subarray(end)]
      heldBytes = bytes.length - end
      return out
    },
    rest: () => (held.length === 0 ? undefined : Buffer.concat(held)),
  }
}

/** See {@link createEventAligner}. */
export interface EventAligner {
  /** Whole events so far, or undefined when this read completed none. */
  push(bytes: Buffer): Buffer | undefined
  /** The bytes after the last whole event. */
  rest(): Buffer | undefined
}

const LF = 0x0a
const CR = 0x0d
const COLON = 0x3a

/** How many bytes of this read may go out: up to its last blank line, and the comment lines right after it. */
function endOfLastEvent(bytes: Buffer, held: readonly Buffer[]): number {
  let end = 0
  for (let i = bytes.length - 1; i >= 0 && end === 0; i--) {
    const byte = bytes[i]
    if ((byte === LF || byte === CR) && endsBlankLine(bytes, i, held)) end = i + 1
  }
  if (end === 0 && held.length > 0 && held[0]?.[0] !== COLON) return 0
  return afterComments(bytes, end, end === 0 && held.length > 0)
}

function endsBlankLine(bytes: Buffer, at: number, held: readonly Buffer[]): boolean {
  const one = byteBefore(bytes, at - 1, held)
  if (bytes[at] === CR) return one === CR || one === LF
  if (one !== CR) return one === LF || one === -1
  const two = byteBefore(bytes, at - 2, held)
  return two === LF || two === CR || two === -1
}

/** A comment between events is a heartbeat and must not wait for the next event; `inside`: one began in an earlier read. */
function afterComments(bytes: Buffer, from: number, inside: boolean): number {
  let end = from
  for (let open = inside; open || bytes[end] === COLON; open = false) {
    const line = endOfLine(bytes, end)
    if (line === -1) break
    end = line
  }
  return end
}

function endOfLine(bytes: Buffer, from: number): number {
  for (let i = from; i < bytes.length; i++) {
    if (bytes[i] === LF) return i + 1
    if (bytes[i] === CR) return bytes[i + 1] === LF ? i + 2 : i + 1
  }
  return -1
}

function byteBefore(bytes: Buffer, index: number, held: readonly Buffer[]): number {
  if (index >= 0) return bytes[index] ?? -1
  let back = -index
  for (let i = held.length - 1; i >= 0; i--) {
    const part = held[i] as Buffer
    if (back <= part.length) return part[part.length - back] ?? -1
    back -= part.length
  }
  return -1
}
