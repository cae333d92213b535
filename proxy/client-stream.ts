import type { ServerResponse } from 'node:http'
import { gatewayError } from '../plugins/errors.ts'
import { heartbeatText } from '../plugins/sse.ts'

/** How a stream is written to a caller. */
export interface StreamTimes {
  /** A caller that takes nothing for this long is cut off, in milliseconds. */
  readonly writeStallTimeoutMs: number
  /** A silent stream gets a comment this often, in milliseconds; 0: never. */
  readonly heartbeatMs: number
}

/** What a stream is written with. */
export interface StreamWriting {
  readonly times: StreamTimes
  /** Hears of every part, with its length in bytes. */
  flushed(bytes: number): void
}

/** Writes the parts of a stream, pulling the next one only when the caller has taken the last. Throws what the source throws. */
export async function writeStream(
  response: ServerResponse,
  parts: AsyncIterable<Buffer | string>,
  { times, flushed }: StreamWriting,
): Promise<void> {
  const heart = startHeart(response, times.heartbeatMs)
  try {
    for await (const part of parts) {
      if (response.destroyed || response.writableEnded) return
      heart.beatsAgain()
      flushed(Buffer.byteLength(part))
      if (!response.write(part)) await drained(response, times.writeStallTimeoutMs)
    }
  } finally {
    heart.stop()
  }
}

function startHeart(response: ServerResponse, everyMs: number): { beatsAgain(): void; stop(): void } {
  if (everyMs <= 0) return { beatsAgain: () => undefined, stop: () => undefined }
  const timer = setInterval(() => {
    // Parts end at a line's end, so a comment line may stand here without breaking an event; a full pipe needs no heartbeat, and
    // before the head has left there is no stream yet.
    if (response.headersSent && response.writableLength === 0 && !response.writableEnded) response.write(heartbeatText)
  }, everyMs)
  return { beatsAgain: () => void timer.refresh(), stop: () => clearInterval(timer) }
}

function drained(response: ServerResponse, stallMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (done: () => void) => () => {
      clearTimeout(timer)
      response.off('drain', onDrain)
      response.off('close', onClose)
      done()
    }
    const onDrain = settle(resolve)
    const onClose = settle(() => reject(gatewayError('client_closed', 'the caller went away')))
    const timer = setTimeout(() => {
      response.destroy()
      onClose()
    }, stallMs)
    response.on('drain', onDrain)
    response.on('close', onClose)
  })
}
