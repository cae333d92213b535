/** What trips a {@link RunFuse}. */
export interface RunRule {
  /** Bad calls in a row, of at least two units. Default 3. */
  readonly length: number
  /** Bad calls in a row where they are all of one unit: one broken client must not take a layer back. Default 5. */
  readonly ofOneUnit: number
}

/** The rule of `canary.md` §3.6. */
export const runRule: RunRule = { length: 3, ofOneUnit: 5 }

/**
 * A fuse on bad calls in a row, for one layer at one gateway replica or one runner, in the order in which calls end there. It needs no
 * store and no arithmetic, so it works when nothing else does. Local.
 */
export interface RunFuse {
  /** Bad calls in a row now. */
  readonly run: number
  /** It has blown; it stays so. */
  readonly blown: boolean
  /** Hears how one canary call of a unit ended. Calls that began before `since` are not heard. */
  hear(call: { readonly unit: string; readonly bad: boolean; readonly startedAt: number }): void
}

/** Makes a {@link RunFuse} for a layer that was activated at `since`, in milliseconds since the epoch. */
export function createRunFuse(since: number, { length, ofOneUnit }: RunRule = runRule): RunFuse {
  let run = 0
  let units: string[] = []
  let blown = false
  return {
    get run() {
      return run
    },
    get blown() {
      return blown
    },
    hear({ unit, bad, startedAt }) {
      if (startedAt < since) return
      run = bad ? run + 1 : 0
      units = bad ? [...units, unit].slice(-length) : []
      if (run >= ofOneUnit || (run >= length && new Set(units).size > 1)) blown = true
    },
  }
}

/** How many calls pass on average until `length` in a row are bad, each with chance `rate`: `(1−p^r)/((1−p)·p^r)`. */
export function callsBetweenRuns(rate: number, length = runRule.length): number {
  return rate >= 1 ? length : (1 - rate ** length) / ((1 - rate) * rate ** length)
}
