import { gatewayError } from './errors.ts'

/** The bytes of what a helper service answers. Throws `runner_protocol` as soon as there are more than `maxBytes`. */
export async function boundedBody(body: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const parts: Buffer[] = []
  let length = 0
  for await (const part of body) {
    length += part.length
    if (length > maxBytes)
      throw gatewayError('runner_protocol', `a helper service answered more than ${maxBytes} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts, length)
}
