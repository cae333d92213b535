/**
 * How far the old headers are on their way out: not announced (`current`), announced (`normal`), `warned`: calls that ask for them are shed
 * before others, `last`: shed first of all, `gone`: no longer given.
 */
export type SunsetTier = 'current' | 'normal' | 'warned' | 'last' | 'gone'

/** Where one instant lies in a sunset period. */
export interface Sunset {
  readonly tier: SunsetTier
  /** First and last instant of the period, in milliseconds since the epoch; undefined where no day is set. */
  readonly since: number | undefined
  readonly end: number | undefined
  /** Whole days until they are gone; 0 once they are. */
  readonly daysLeft: number
}

/** When a sunset began, `YYYY-MM-DD` (midnight, UTC) or null for never, and how many days it lasts. */
export interface SunsetPeriod {
  readonly since: string | null
  readonly days: number
}

const dayMs = 86_400_000
const unannounced: Sunset = { tier: 'current', since: undefined, end: undefined, daysLeft: 0 }

/** The tier at an instant: thirds of the period, so that of 90 days 0 to 30 are normal, 31 to 60 warned and 61 to 90 the last. */
export function sunsetAt({ since: day, days }: SunsetPeriod, now: number): Sunset {
  const since = day === null ? Number.NaN : Date.parse(day)
  if (Number.isNaN(since) || now < since) return unannounced
  const end = since + days * dayMs
  return {
    tier: tierOf(Math.floor((now - since) / dayMs), days, now >= end),
    since,
    end,
    daysLeft: daysUntil(end, now),
  }
}

function tierOf(day: number, days: number, over: boolean): SunsetTier {
  if (over) return 'gone'
  if (day <= days / 3) return 'normal'
  return day <= (2 * days) / 3 ? 'warned' : 'last'
}

function daysUntil(end: number, now: number): number {
  return Math.max(0, Math.ceil((end - now) / dayMs))
}

/** `Deprecation` (RFC 9745) and `Sunset` (RFC 8594); none before the period has begun. */
export function sunsetHeaders({ since, end }: Sunset): Record<string, string> {
  if (since === undefined || end === undefined) return {}
  return { deprecation: `@${Math.floor(since / 1_000)}`, sunset: new Date(end).toUTCString() }
}
