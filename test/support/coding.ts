import { constants, createBrotliCompress, createGzip, createZstdCompress } from 'node:zlib'
import type { Coding } from './reply.ts'

/** A content coding in progress: what goes in comes out at once, flushed, so that a reader can decode it right away. */
export interface Encoder {
  push(bytes: Buffer): Promise<Buffer>
  end(): Promise<Buffer>
}

/** A fresh encoder of the coding. */
export function createEncoder(coding: Coding): Encoder {
  const stream = { gzip: createGzip, br: createBrotliCompress, zstd: createZstdCompress }[coding]()
  const flushKind = {
    gzip: constants.Z_SYNC_FLUSH,
    br: constants.BROTLI_OPERATION_FLUSH,
    zstd: constants.ZSTD_e_flush,
  }[coding]
  const ready: Buffer[] = []
  stream.on('data', (bytes: Buffer) => ready.push(bytes))
  const taken = () => Buffer.concat(ready.splice(0))
  return {
    push: (bytes) =>
      new Promise((done) => {
        stream.write(bytes)
        stream.flush(flushKind, () => setImmediate(() => done(taken())))
      }),
    end: () =>
      new Promise((done) => {
        stream.once('end', () => done(taken()))
        stream.end()
      }),
  }
}
