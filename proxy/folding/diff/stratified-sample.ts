import { hash } from 'node:crypto'
import { type Strata, strataKey } from './strata.ts'

/** Which calls are compared: a share of all, and of each stratum at least a few, so that rare ones fill. */
export interface StratifiedSample {
  /** Whether a call belongs to it: by the hash of its id, or since its stratum has not had its quota in this window yet. */
  takes(call: Sampled, at: number): boolean
}

/** What of a call its draw hangs on. */
export interface Sampled {
  readonly id: string
  readonly tier: string
  readonly strata: Strata
}

/** What a {@link StratifiedSample} is made with. */
export interface SampleParts {
  /** The share of all calls, 0 to 1. */
  readonly rate: number
  /** Calls of every stratum, by tier, that are taken in a window whatever the share. Default 2. */
  readonly quota?: number
  /** Milliseconds. Default 60,000. */
  readonly windowMs?: number
}

/** Tiers can be anything; beyond so many strata the quota is one for all the others. */
const mostStrata = 1_000

/** Makes a {@link StratifiedSample}. A share of 0 takes nothing at all, quota or not. */
export function createStratifiedSample({ rate, quota = 2, windowMs = 60_000 }: SampleParts): StratifiedSample {
  const taken = new Map<string, number>()
  let window = Number.NaN
  return {
    takes({ id, tier, strata }, at) {
      if (rate <= 0) return false
      const current = Math.floor(at / windowMs)
      if (current !== window) taken.clear()
      window = current
      const named = `${tier}|${strataKey(strata)}`
      const key = taken.has(named) || taken.size < mostStrata ? named : 'other'
      const so = taken.get(key) ?? 0
      if (so >= quota && !isDrawn(id, rate)) return false
      taken.set(key, so + 1)
      return true
    },
  }
}

/** Whether the hash of a call's id falls into a share, 0 to 1: the same on every replica. */
export function isDrawn(id: string, share: number): boolean {
  return Number.parseInt(hash('sha256', `sample\n${id}`).slice(0, 8), 16) / 2 ** 32 < share
}
