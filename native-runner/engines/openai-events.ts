import { pipeline, type Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'
import { createParser } from 'eventsource-parser'
import { refusal } from '../refusal.ts'

/** Characters that one event of an upstream may have; larger ones end the answer with an error. */
const maxEventChars = 8_388_608

const decoders = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
} as const

/** A response body without its content encoding. Throws `upstream_failed` for one that we do not know. */
export function decodedBody(body: Readable, encoding: string | undefined): Readable {
  const name = (encoding ?? 'identity').trim().toLowerCase()
  if (name === 'identity' || name === '') return body
  if (!Object.hasOwn(decoders, name)) {
    body.destroy()
    throw refusal('upstream_failed', `the upstream answered in an unknown content encoding: ${name}`)
  }
  // Errors of either side surface on the reading end.
  return pipeline(body, decoders[name as keyof typeof decoders](), () => undefined)
}

/** A whole body as text. Throws `upstream_failed` past `limit` bytes. */
export async function textFromBody(body: Readable, limit: number): Promise<string> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of body) {
    size += part.length
    if (size > limit) throw refusal('upstream_failed', `the upstream's answer is larger than ${limit} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

/** The `data` of each server-sent event, as it comes. Throws `upstream_failed` for an event too large to hold. */
export async function* dataFromBody(body: Readable): AsyncGenerator<string> {
  let ready: string[] = []
  let tooLarge = false
  const parser = createParser({
    maxBufferSize: maxEventChars,
    onEvent: ({ data }) => void ready.push(data),
    onError: ({ type }) => {
      tooLarge ||= type === 'max-buffer-size-exceeded'
    },
  })
  const decoder = new TextDecoder()
  for await (const part of body) {
    parser.feed(decoder.decode(part, { stream: true }))
    const events = ready
    ready = []
    yield* events
    if (tooLarge) throw refusal('upstream_failed', 'the upstream sent an event too large to hold')
  }
}
