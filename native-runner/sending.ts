import { Readable } from 'node:stream'
import { bodyFromRefusal, headersFromRefusal, type Refusal, refusal } from './refusal.ts'
import type { Answer } from './routes/route.ts'

/** Where an answer goes: what the server's own reply can do. */
export interface Outgoing<Sent> {
  code(status: number): this
  headers(headers: Readonly<Record<string, string>>): this
  trailer(name: string, text: () => Promise<string>): this
  send(body: unknown): Sent
  readonly raw: { destroy(): unknown }
}

/** Sends an answer; a stream whose reader takes nothing for `stallTimeoutMs` is cut. */
export function send<Sent>(reply: Outgoing<Sent>, answer: Answer, stallTimeoutMs: number): Sent {
  reply.code(answer.status).headers(answer.headers ?? {})
  const { body } = answer
  if (typeof body === 'string' || Buffer.isBuffer(body) || !(Symbol.asyncIterator in body)) return reply.send(body)
  for (const [name, text] of Object.entries(answer.trailers ?? {})) reply.trailer(name, async () => textOf(text))
  const bytes = watched(body as AsyncIterable<string | Buffer>, () => void reply.raw.destroy(), stallTimeoutMs)
  return reply.send(Readable.from(bytes, { objectMode: false, highWaterMark: 16_384 }))
}

/** Sends a refusal in the OpenAI dialect. */
export function sendRefusal<Sent>(reply: Outgoing<Sent>, error: Refusal): Sent {
  return reply.code(error.status).headers(headersFromRefusal(error)).send(bodyFromRefusal(error))
}

/** A trailer that is not there after all is one that cannot be made. */
function textOf(text: () => string | undefined): string {
  const said = text()
  if (said === undefined) throw refusal('internal_error', 'there is no trailer')
  return said
}

/** Events as bytes, cut when their reader takes none for too long. */
async function* watched(
  events: AsyncIterable<string | Buffer>,
  stall: () => void,
  timeoutMs: number,
): AsyncGenerator<Buffer> {
  for await (const event of events) {
    const timer = setTimeout(stall, timeoutMs)
    try {
      yield typeof event === 'string' ? Buffer.from(event) : event
    } finally {
      clearTimeout(timer)
    }
  }
}
