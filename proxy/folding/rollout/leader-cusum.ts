import { type Cusum, createCusum } from '../statistics/cusum.ts'
import { armTotals, type Evidence } from './evidence.ts'
import type { StageConstants } from './stage-constants.ts'

/** The CUSUM of all processes together, second by second: a fault that is spread thin over many is seen by none of them alone. */
export interface LeaderCusum {
  /** Hears the evidence of a second, and gives back the highest value since this step began here. */
  peak(evidence: Evidence, constants: StageConstants): number
}

interface Heard {
  readonly key: string
  readonly cusum: Cusum
  ended: number
  bad: number
}

/** Makes a {@link LeaderCusum}. It begins anew with every step, from what has been counted until then. */
export function createLeaderCusum(): LeaderCusum {
  let heard: Heard | undefined
  return {
    peak({ rollout, step, startedAt, cells }, constants) {
      const key = `${rollout}\n${step}\n${startedAt}`
      if (heard?.key !== key) heard = { key, cusum: createCusum(constants.errors, constants.cusum), ended: 0, bad: 0 }
      const here = cells.filter((cell) => cell.step === step && cell.window >= startedAt)
      const { canary } = armTotals(here)
      // A process that has gone may take its last words along: counts never go back for it.
      const counted = constants.counting === 'tenant' ? canary.badOfMany : canary.bad
      const bad = Math.max(0, counted - heard.bad)
      const ended = Math.max(0, canary.ended - heard.ended)
      heard.cusum.add(Math.max(0, ended - bad), bad)
      heard.bad += bad
      heard.ended += ended
      return heard.cusum.peak
    },
  }
}
