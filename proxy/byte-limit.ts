import { Transform } from 'node:stream'
import { gatewayError } from '../plugins/errors.ts'

/** Lets bytes through until there have been more than `limit`; then fails with `body_too_large`. */
export function createByteLimit(limit: number): Transform {
  let length = 0
  return new Transform({
    transform(bytes: Buffer, _encoding, done) {
      length += bytes.length
      if (length > limit) done(gatewayError('body_too_large', `the request body is longer than ${limit} bytes`))
      else done(null, bytes)
    },
  })
}
