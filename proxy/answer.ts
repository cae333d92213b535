import type { ServerResponse } from 'node:http'
import { errorHeaders, type GatewayError, gatewayErrorFrom } from '../plugins/errors.ts'
import { streamHeaders } from '../plugins/headers.ts'
import { type StreamTimes, writeStream } from './client-stream.ts'
import type { Dialect } from './dialect.ts'
import { proxyStatusHeader } from './proxy-status.ts'

/** What an answer is written with. */
export interface AnswerFrame {
  readonly response: ServerResponse
  readonly dialect: Dialect
  readonly requestId: string
  readonly times: StreamTimes
  /** The headers of ours that an answer with this head carries; asked for at the moment it is written. */
  headers(head: Head): Readonly<Record<string, string>>
  /** What the head of a stream says of its trailer; nothing where it has none. */
  announced(): Readonly<Record<string, string>>
  /** The trailer that was announced, at the end of the stream. */
  trailer(): Readonly<Record<string, string>> | undefined
  /** A part of a stream is written, with so many bytes. */
  flushed(bytes: number): void
  /** The head is about to leave: the answer has begun. */
  begun(streamed: boolean): void
}

/** An answer in whatever dialect: an event stream, sent as it comes, or a document, sent whole with its length. */
export type Answer = { readonly status: number; readonly headers: Readonly<Record<string, string>> } & (
  | { readonly streamed: true; readonly parts: AsyncIterable<Buffer | string> }
  | { readonly streamed: false; whole(): Promise<Buffer> }
)

/**
 * Writes an answer. While nothing has left, an error is answered with its own status; afterwards it is said in band and the stream
 * ends without an end mark. Gives back the error, if there was one; never throws.
 */
export async function writeAnswer(
  frame: AnswerFrame,
  answer: () => Promise<Answer>,
): Promise<GatewayError | undefined> {
  const { response } = frame
  try {
    const said = await answer()
    if (said.streamed) {
      await writeStream(response, withHead(frame, said, said.parts), frame)
      endStream(frame)
    } else writeWhole(frame, said, await said.whole())
    return undefined
  } catch (reason) {
    const error = gatewayErrorFrom(reason)
    if (response.destroyed || response.writableEnded) return error
    if (response.headersSent) endStream(frame, frame.dialect.errorEvent(error, frame.requestId))
    else writeError(frame, error)
    return error
  }
}

/** Ends a stream that has begun, with a last text and its trailer where it has them. */
export function endStream(frame: AnswerFrame, text?: string): void {
  const trailer = frame.trailer()
  if (trailer) frame.response.addTrailers(trailer)
  frame.response.end(text)
}

/** Answers with an error in the dialect of the route. */
export function writeError(frame: AnswerFrame, error: GatewayError): void {
  const body = Buffer.from(JSON.stringify(frame.dialect.errorBody(error, frame.requestId)))
  writeWhole(frame, { status: error.status, headers: { ...errorHeaders(error), ...proxyStatusHeader(error) } }, body)
}

/** Status and headers of an answer before ours are added. */
export interface Head {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
}

function writeWhole(frame: AnswerFrame, head: Head, body: Buffer): void {
  const { response } = frame
  frame.begun(false)
  const headers: Record<string, string | number> = { 'content-type': 'application/json' }
  Object.assign(headers, head.headers, frame.headers(head))
  headers['x-request-id'] = frame.requestId
  headers['content-length'] = body.length
  response.writeHead(head.status, headers)
  response.end(body)
}

/** The head goes out with the first part, so that what fails before it still has its true status. */
async function* withHead(frame: AnswerFrame, head: Head, parts: AsyncIterable<Buffer | string>) {
  let begun = false
  for await (const part of parts) {
    if (!begun) {
      begun = true
      frame.begun(true)
      const own = { ...streamHeaders, ...head.headers, ...frame.headers(head), 'x-request-id': frame.requestId }
      frame.response.writeHead(head.status, { ...own, ...frame.announced() })
    }
    yield part
  }
}
