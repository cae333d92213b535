import type { RedisLine } from '../../../config/store/redis-line.ts'
import { fieldOf, replicaFromField } from './counting.ts'
import type { StageDocument } from './document.ts'
import type { Replica } from './replica.ts'
import { documentFromText, lookScript, stateKeys } from './scripts.ts'

/** What one replica said that it knows. */
export interface Sighting {
  readonly replica: Replica
  /** How long ago it said so, in milliseconds, by the clock of the store. */
  readonly agoMs: number
  readonly rev: number
  /** The latest trips that it knows. */
  readonly trips: readonly string[]
}

/** Everything that one look at the store shows. */
export interface Glance {
  /** Undefined where the store has none. */
  readonly stored: StageDocument | undefined
  /** The fence that was given out last. */
  readonly fence: number
  /** The store did not know this replica: it has just come, or the store has lost what it was told. */
  readonly isFirst: boolean
  readonly replicas: readonly Sighting[]
}

/** A replica that was seen so long ago, in milliseconds, is not counted any more. */
export function aliveMs(pollMs: number): number {
  return Math.max(5 * pollMs, 2_000)
}

/** A replica tells its latest trips only, so that what it says stays small. */
const mostTrips = 50

/** Tells the store what this replica knows, and looks. Throws as {@link RedisLine.run}. */
export async function glanceAt(line: RedisLine, replica: Replica, known: StageDocument): Promise<Glance> {
  const args = [fieldOf(replica), JSON.stringify({ rev: known.rev, trips: latestTrips(known) })]
  const reply = await line.run(lookScript, [stateKeys.state, stateKeys.seen, stateKeys.fence], args)
  const [text, fence, at, first, ...seen] = reply
  const replicas: Sighting[] = []
  for (let index = 0; index + 1 < seen.length; index += 2) {
    const [field, said] = [String(seen[index]), String(seen[index + 1])]
    const space = said.indexOf(' ')
    const { rev, trips } = JSON.parse(said.slice(space + 1)) as Pick<Sighting, 'rev' | 'trips'>
    replicas.push({ replica: replicaFromField(field), agoMs: Number(at) - Number(said.slice(0, space)), rev, trips })
  }
  return { stored: documentFromText(String(text)), fence: Number(fence), isFirst: first === 1, replicas }
}

function latestTrips({ tripped }: StageDocument): string[] {
  const all = Object.entries(tripped).sort(([, a], [, b]) => b.at - a.at)
  return all.slice(0, mostTrips).map(([id]) => id)
}
