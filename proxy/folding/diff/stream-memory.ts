/** What all streams that are looked at may keep, together and each. Bytes. */
export interface StreamMemory {
  /** Kept now by all. */
  readonly used: number
  /** Streams that outgrew it so far. */
  readonly outgrown: number
  /** Room for one stream. */
  open(): StreamRoom
}

/** What one stream keeps. */
export interface StreamRoom {
  /** False once the stream, or all of them, would keep too much: what it has kept is then given back, and it gets no more. */
  take(bytes: number): boolean
  readonly full: boolean
  /** Gives everything back. */
  close(): void
}

/** Most that one stream keeps: 256 KiB. */
export const mostPerStream = 256 * 1024
/** Most that all keep together: 64 MiB. */
export const mostInAll = 64 * 1024 * 1024

/** Makes the one {@link StreamMemory} of a process. */
export function createStreamMemory({ perStream = mostPerStream, inAll = mostInAll } = {}): StreamMemory {
  let [used, outgrown] = [0, 0]
  return {
    get used() {
      return used
    },
    get outgrown() {
      return outgrown
    },
    open() {
      let [kept, full] = [0, false]
      const close = (): void => {
        used -= kept
        kept = 0
      }
      return {
        get full() {
          return full
        },
        take(bytes) {
          if (full) return false
          if (kept + bytes > perStream || used + bytes > inAll) {
            full = true
            outgrown++
            close()
            return false
          }
          kept += bytes
          used += bytes
          return true
        },
        close,
      }
    },
  }
}

/** Keeps the bytes of a stream that goes by, so that it can be compared when it is over. */
export interface StreamTee {
  push(bytes: Buffer): void
  /** Everything, once; undefined when it was too large. Gives the room back. */
  take(): Buffer | undefined
}

/** Makes a {@link StreamTee}. What outgrows the memory is dropped at once, and to be counted as `too_large`. */
export function createStreamTee(memory: StreamMemory): StreamTee {
  const room = memory.open()
  let parts: Buffer[] = []
  return {
    push(bytes) {
      if (room.take(bytes.length)) parts.push(bytes)
      else parts = []
    },
    take() {
      const whole = room.full ? undefined : Buffer.concat(parts)
      parts = []
      room.close()
      return whole
    },
  }
}
