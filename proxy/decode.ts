import { Readable } from 'node:stream'
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'
import { GatewayError, gatewayError } from '../plugins/errors.ts'

/**
 * A body with its content coding taken off, incrementally: what one flush of the runner completes comes out at once. We ask runners
 * for `identity`; this is for those that compress all the same. Throws `runner_protocol` for a coding nobody knows.
 */
export function decoded(body: AsyncIterable<Buffer>, coding: string | undefined): AsyncIterable<Buffer> {
  const name = coding?.trim().toLowerCase()
  if (!name || name === 'identity') return body
  const decoder = decoderFor(name)
  const source = Readable.from(body, { objectMode: false })
  // `pipe` does not pass errors on, and a runner that breaks off must not look like a clean end.
  source.on('error', (error) => decoder.destroy(error))
  decoder.on('close', () => source.destroy())
  return withOurErrors(source.pipe(decoder))
}

async function* withOurErrors(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* body
  } catch (reason) {
    if (reason instanceof GatewayError) throw reason
    // zlib's word for a body that stops in the middle.
    const torn = (reason as NodeJS.ErrnoException).code === 'Z_BUF_ERROR'
    throw torn
      ? gatewayError('runner_error', 'the runner ended a compressed body early', { cause: reason })
      : gatewayError('runner_protocol', 'the runner sent a body that is not in the coding it names', { cause: reason })
  }
}

function decoderFor(name: string): NodeJS.ReadWriteStream & Readable {
  switch (name) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip({ flush: constants.Z_SYNC_FLUSH })
    case 'deflate':
      return createInflate({ flush: constants.Z_SYNC_FLUSH })
    case 'br':
      return createBrotliDecompress({ flush: constants.BROTLI_OPERATION_FLUSH })
    case 'zstd':
      return createZstdDecompress({ flush: constants.ZSTD_e_flush })
    default:
      throw gatewayError('runner_protocol', 'the runner answered in a content coding that nobody asked for')
  }
}
