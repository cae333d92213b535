import type { IncomingMessage } from 'node:http'
import { Transform } from 'node:stream'
import { gatewayError } from '../plugins/errors.ts'

/** Lets bytes through until there have been more than `limit`; then fails with `body_too_large`. */
export function createByteLimit(limit: number): Transform {
  let length = 0
  return new Transform({
    transform(bytes: Buffer, _encoding, done) {
      length += bytes.length
      if (length > limit) done(gatewayError('body_too_large', 'the request body is too large'))
      else done(null, bytes)
    },
  })
}

/**
 * Reads the rest of a body that was refused and throws it away, so that its sender gets to read the answer; one that goes on beyond
 * `most` bytes is cut off.
 */
export function drainBody(request: IncomingMessage, most: number): void {
  let left = most
  request.on('data', (bytes: Buffer) => {
    left -= bytes.length
    if (left < 0) request.socket.destroy()
  })
  request.resume()
}
