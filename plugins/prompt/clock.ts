/** Names that templates can use for the call's instant, in UTC. */
export const clockNames = ['now_utc', 'today_utc', 'time_utc', 'weekday_utc', 'year_utc', 'now_unix'] as const

/** One of {@link clockNames}. */
export type ClockName = (typeof clockNames)[number]

/** Whether a name is a clock. */
export function isClock(name: string): name is ClockName {
  return (clockNames as readonly string[]).includes(name)
}

/** An instant rounded down to a multiple of `granularityMs` since the epoch, in milliseconds. */
export function rounded(now: number, granularityMs: number): number {
  return Math.floor(now / granularityMs) * granularityMs
}

const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']

/** What a clock shows at an instant (ISO 8601; `now_unix` in seconds). */
export function clockValue(name: ClockName, at: number): string | number {
  const date = new Date(at)
  const iso = date.toISOString()
  switch (name) {
    case 'now_utc':
      return `${iso.slice(0, 19)}Z`
    case 'today_utc':
      return iso.slice(0, 10)
    case 'time_utc':
      return iso.slice(11, 16)
    case 'weekday_utc':
      return weekdays[date.getUTCDay()] as string
    case 'year_utc':
      return date.getUTCFullYear()
    case 'now_unix':
      return Math.floor(at / 1000)
  }
}
