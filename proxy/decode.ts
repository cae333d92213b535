import { Readable } from 'node:stream'
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'
import { gatewayError } from '../plugins/errors.ts'

/**
 * A body with its content coding taken off, incrementally: what one flush of the runner completes comes out at once. We ask runners
 * for `identity`; this is for those that compress all the same. Throws `runner_protocol` for a coding nobody knows.
 */
export function decoded(body: AsyncIterable<Buffer>, coding: string | undefined): AsyncIterable<Buffer> {
  const name = coding?.trim().toLowerCase()
  if (!name || name === 'identity') return body
  return throughDecoder(body, decoderFor(name))
}

async function* throughDecoder(body: AsyncIterable<Buffer>, decoder: Decoder): AsyncGenerator<Buffer> {
  const source = Readable.from(body, { objectMode: false })
  let broken: Error | undefined
  // `pipe` does not pass errors on, and a runner that breaks off must not look like a clean end; what came before it still counts.
  source.on('error', (error) => {
    broken = error
    decoder.end()
  })
  decoder.on('close', () => source.destroy())
  try {
    yield* source.pipe(decoder)
  } catch (reason) {
    throw broken ?? decodingError(reason as NodeJS.ErrnoException)
  }
  if (broken) throw broken
}

function decodingError(cause: NodeJS.ErrnoException): Error {
  // zlib's word for a body that stops in the middle.
  return cause.code === 'Z_BUF_ERROR'
    ? gatewayError('runner_error', 'the runner ended a compressed body early', { cause })
    : gatewayError('runner_protocol', 'the runner sent a body that is not in the coding it names', { cause })
}

type Decoder = NodeJS.ReadWriteStream & Readable

function decoderFor(name: string): Decoder {
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
