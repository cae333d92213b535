import type { Clock } from '../../plugins/host.ts'

/** One entry of a stream, with the instant it was appended, in milliseconds since the epoch. */
export interface StreamEntry {
  readonly at: number
  readonly fields: Readonly<Record<string, string>>
}

/** Streams of this process's memory: appended to, never read by anybody but who looks at them here. */
export interface Streams {
  /** Appends; only the newest `maxEntries` stay. */
  append(stream: string, fields: Readonly<Record<string, string>>, maxEntries: number): void
  entries(stream: string): readonly StreamEntry[]
}

const maxStreams = 64
const maxStreamBytes = 16 * 1024 * 1024

interface Kept {
  entries: StreamEntry[]
  bytes: number
}

/** Makes {@link Streams}: at most 64 of them, of at most 16 MiB each; the one appended to longest ago goes first. */
export function createStreams(clock: Clock): Streams {
  const streams = new Map<string, Kept>()
  return {
    append(stream, fields, maxEntries) {
      const kept = streams.get(stream) ?? { entries: [], bytes: 0 }
      streams.delete(stream)
      streams.set(stream, kept)
      kept.entries.push({ at: clock.now(), fields })
      kept.bytes += sizeOf(fields)
      trim(kept, maxEntries)
      if (streams.size <= maxStreams) return
      const [oldest] = streams.keys()
      if (oldest !== undefined) streams.delete(oldest)
    },
    entries: (stream) => streams.get(stream)?.entries ?? [],
  }
}

function trim(kept: Kept, maxEntries: number): void {
  let drop = 0
  while (kept.entries.length - drop > maxEntries || (kept.bytes > maxStreamBytes && drop < kept.entries.length)) {
    kept.bytes -= sizeOf(kept.entries[drop]?.fields ?? {})
    drop++
  }
  if (drop > 0) kept.entries.splice(0, drop)
}

function sizeOf(fields: Readonly<Record<string, string>>): number {
  return Object.entries(fields).reduce((bytes, [name, value]) => bytes + (name.length + value.length) * 2, 64)
}
