/**
 * The arithmetic of one bucket: GCRA in its continuous-state form (ITU-T I.371, annex A), in whole numbers. What was spent is a debt that
 * decays at the rate; a call fits while the debt with it is at most the capacity. Debts are counted in units of a 60,000th of a token
 * (or request), so that a millisecond pays off exactly `perMinute` units.
 */
export interface Bucket {
  readonly debt: number
  /** The instant of `debt`, in milliseconds since the epoch. */
  readonly at: number
  /**
   * The low points of the debt so far that still matter, oldest first, ascending: the first one at or after an instant is the least debt
   * since then. A refund gives back no more than that, so the debt is always what it would be had the call been charged its real usage
   * from the start: budget that lay idle meanwhile is not handed out twice.
   */
  readonly lows: readonly Low[]
}

/** A low point of a debt. */
export interface Low {
  readonly at: number
  readonly debt: number
}

/** Units of debt in one token or request. */
export const unitsEach = 60_000
/** Most low points that are kept; the two oldest become one then, which can only make the refund of a very long call smaller. */
export const mostLows = 16

/** A bucket nothing was ever taken from. */
export const untouched: Bucket = { debt: 0, at: 0, lows: [] }

/** The bucket at a later instant; an earlier one (another replica's clock) changes nothing. */
export function bucketAt(bucket: Bucket, now: number, perMinute: number): Bucket {
  const at = Math.max(now, bucket.at)
  const debt = Math.max(0, bucket.debt - (at - bucket.at) * perMinute)
  const lows = bucket.lows.filter((low) => low.debt < debt)
  // Of one instant only the first low point is ever asked for.
  if (lows.at(-1)?.at !== at) lows.push({ at, debt })
  const [first, second, ...rest] = lows
  if (first && second && lows.length > mostLows)
    return { debt, at, lows: [{ at: second.at, debt: first.debt }, ...rest] }
  return { debt, at, lows }
}

/** The bucket with so many units more taken out. */
export function charged(bucket: Bucket, units: number): Bucket {
  return { ...bucket, debt: bucket.debt + units }
}

/** The bucket with up to so many units of a charge of the instant `since` given back. */
export function refunded(bucket: Bucket, units: number, since: number): Bucket {
  const first = bucket.lows.find((low) => low.at > since)
  const back = Math.min(units, first?.debt ?? bucket.debt, bucket.debt)
  const lows: Low[] = []
  const least = first ? first.debt - back : Number.POSITIVE_INFINITY
  for (const low of bucket.lows) {
    if (low.at > since) lows.push({ at: low.at, debt: low.debt - back })
    else if (low.debt < least) lows.push(low)
  }
  return { ...bucket, debt: bucket.debt - back, lows }
}
