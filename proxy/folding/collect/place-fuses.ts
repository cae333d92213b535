import type { LocalFuse, PlaceCounts } from '../rollout/evidence-counts.ts'
import type { StageConstants } from '../rollout/stage-constants.ts'
import { createCusum } from '../statistics/cusum.ts'
import { createRunFuse } from '../statistics/run-of-three.ts'
import { most, type Overflow } from './overflow.ts'

/** One canary call that has ended, as the fuses of a place hear of it. */
export interface HeardCall {
  readonly runner: string | undefined
  readonly unit: string
  /** When it began, in milliseconds since the epoch. */
  readonly startedAt: number
  /** It was bad; `repeated`: its unit was so in the same way within the minute. */
  readonly bad: 'no' | 'yes' | 'repeated'
  /** Its caller is of a tier that moves last. */
  readonly vip: boolean
  /** The runner made it fall back. */
  readonly fellBack: boolean
}

/** The fuses of this gateway replica and of every runner it calls, in the order in which calls end here. */
export interface PlaceFuses {
  /** A step begins, perhaps anew: calls are counted from 0, and all fuses are whole. */
  begin(step: FuseStep): void
  hear(call: HeardCall): void
  /** With the ages of what waits at a place. */
  list(waitingMs: (runner: string | undefined) => readonly number[]): PlaceCounts[]
}

/** What fuses are set to. */
export interface FuseStep extends Pick<StageConstants, 'errors' | 'cusum' | 'vip'> {
  /** Calls that began earlier are not heard. */
  readonly since: number
}

interface Place {
  readonly kind: PlaceCounts['kind']
  readonly id: string
  ended: number
  readonly blown: Set<LocalFuse>
  fuses: Fuses
}

interface Fuses {
  readonly bad: ReturnType<typeof createRunFuse>
  /** Of calls of the tiers that move last. */
  readonly vip: ReturnType<typeof createRunFuse> | undefined
  readonly fallback: ReturnType<typeof createRunFuse>
  readonly cusum: ReturnType<typeof createCusum>
}

const otherRunner = 'other'

/** Makes {@link PlaceFuses} for a replica. More than 64 runners share one. */
export function createPlaceFuses(replica: string, first: FuseStep, overflow: Overflow): PlaceFuses {
  let step = first
  const gateway = placed('gateway', replica, step)
  const runners = new Map<string, Place>()
  const runnerNamed = (id: string): Place => {
    const found = runners.get(id)
    if (found) return found
    if (runners.size >= most.runners && id !== otherRunner) {
      overflow.add('runners')
      return runnerNamed(otherRunner)
    }
    const place = placed('runner', id, step)
    runners.set(id, place)
    return place
  }
  return {
    begin(next) {
      step = next
      for (const place of [gateway, ...runners.values()]) {
        place.ended = 0
        place.blown.clear()
        place.fuses = fusesFor(step)
      }
    },
    hear(call) {
      if (call.startedAt < step.since) return
      tell(gateway, call)
      if (call.runner !== undefined) tell(runnerNamed(call.runner), call)
    },
    list: (waitingMs) =>
      [gateway, ...runners.values()].map((place) => ({
        kind: place.kind,
        id: place.id,
        ended: place.ended,
        blown: [...place.blown].sort(),
        waitingMs: waitingMs(place.kind === 'runner' ? place.id : undefined),
      })),
  }
}

function placed(kind: Place['kind'], id: string, step: FuseStep): Place {
  return { kind, id, ended: 0, blown: new Set(), fuses: fusesFor(step) }
}

function fusesFor({ since, errors, cusum, vip }: FuseStep): Fuses {
  return {
    bad: createRunFuse(since),
    vip: vip && createRunFuse(since, vip.runs),
    fallback: createRunFuse(since),
    cusum: createCusum(errors, cusum),
  }
}

/** A fallback says nothing for or against a run of bad calls, nor a bad call of a run of fallbacks: only what went well ends either. */
function tell(place: Place, { unit, startedAt, bad, vip, fellBack }: HeardCall): void {
  const { fuses, blown } = place
  place.ended++
  const well = bad === 'no' && !fellBack
  if (bad !== 'no' || well) fuses.bad.hear({ unit, startedAt, bad: !well })
  if (vip && (bad !== 'no' || well)) fuses.vip?.hear({ unit, startedAt, bad: !well })
  if (fellBack || well) fuses.fallback.hear({ unit, startedAt, bad: fellBack })
  if (bad === 'yes') fuses.cusum.add(0, 1)
  else if (bad === 'no') fuses.cusum.add(1, 0)
  if (fuses.bad.blown || fuses.vip?.blown) blown.add('bad')
  if (fuses.fallback.blown) blown.add('fallback')
  if (fuses.cusum.tripped) blown.add('cusum')
}
