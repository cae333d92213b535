import type { Socket } from 'node:net'

/** Bytes of one read of a socket, and when they were read (`performance.now()`). */
export interface Arrival {
  readonly bytes: Buffer
  readonly at: number
}

/** How the other side of a socket went: a FIN, a reset, or closed from this side. */
export type Ending = 'fin' | 'reset' | 'ours'

/** A socket's bytes in the order of arrival, taken as asked for; every socket read stays an arrival of its own. */
export interface ByteReader {
  /** The next line as latin1 without its line end; null when the socket ended first. */
  line(): Promise<string | null>
  /** The next bytes of one arrival, at most `max`; null when the socket ended. */
  some(max: number): Promise<Arrival | null>
  /** Arrivals so far. */
  readonly reads: number
  /** Resolves with the first sign of the end. */
  readonly ending: Promise<Ending>
}

/** Reads the socket from now on. */
export function createByteReader(socket: Socket): ByteReader {
  const queue: Arrival[] = []
  const { promise: ending, resolve: end } = Promise.withResolvers<Ending>()
  let reads = 0
  let over = false
  let wake = () => {}
  const finish = (how: Ending) => {
    over = true
    end(how)
    wake()
  }
  socket.on('data', (bytes: Buffer) => {
    reads += 1
    queue.push({ bytes, at: performance.now() })
    wake()
  })
  socket.once('end', () => finish('fin'))
  socket.on('error', () => finish('reset'))
  socket.once('close', () => finish('ours'))

  const next = async (): Promise<Arrival | undefined> => {
    while (queue.length === 0 && !over) await new Promise<void>((go) => (wake = go))
    return queue.shift()
  }
  const some = async (max: number) => {
    const arrival = await next()
    if (arrival && arrival.bytes.length > max) {
      queue.unshift({ bytes: arrival.bytes.subarray(max), at: arrival.at })
      return { bytes: arrival.bytes.subarray(0, max), at: arrival.at }
    }
    return arrival ?? null
  }
  const line = async () => {
    const parts: Buffer[] = []
    for (;;) {
      const arrival = await next()
      if (!arrival) return null
      const at = arrival.bytes.indexOf(10)
      parts.push(at < 0 ? arrival.bytes : arrival.bytes.subarray(0, at))
      if (at < 0) continue
      if (at + 1 < arrival.bytes.length) queue.unshift({ bytes: arrival.bytes.subarray(at + 1), at: arrival.at })
      return Buffer.concat(parts).toString('latin1').replace(/\r$/, '')
    }
  }
  return {
    line,
    some,
    ending,
    get reads() {
      return reads
    },
  }
}
