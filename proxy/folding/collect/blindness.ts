/** Notices when spans no longer tell how calls end. */
export interface Blindness {
  /** In words, since the last look; undefined: spans are heard. */
  readonly blind: string | undefined
  drawn(): void
  /** A call that was drawn is over, whether or not a span has said so. */
  over(): void
  /** A span has ended. */
  heard(): void
  /** The end of a span could not be read. */
  unreadable(reason: unknown): void
  look(): void
}

/** So many calls that were over without a span are no accident. */
const silent = 3
/** So many calls drawn, and nothing ended for so long, in milliseconds. */
const [unanswered, quietMs] = [10, 60_000] as const

/** Makes a {@link Blindness}. `now` is in milliseconds. */
export function createBlindness(now: () => number): Blindness {
  let [drawn, over, heard] = [0, 0, 0]
  let since: number | undefined
  let wrong: { count: number; first: string } | undefined
  let blind: string | undefined
  return {
    get blind() {
      return blind
    },
    drawn() {
      since ??= now()
      drawn++
    },
    over() {
      over++
    },
    heard() {
      heard++
    },
    unreadable(reason) {
      const first = reason instanceof Error ? reason.message : String(reason)
      wrong = { count: (wrong?.count ?? 0) + 1, first: wrong?.first ?? first }
    },
    look() {
      const quiet = since === undefined ? 0 : now() - since
      if (wrong) blind = `${wrong.count} ends of spans could not be read: ${wrong.first}`
      else if (heard > 0) blind = undefined
      else if (over >= silent) blind = `${over} calls are over, and not one span has ended`
      else if (drawn >= unanswered && quiet >= quietMs)
        blind = `${drawn} calls were drawn in ${Math.round(quiet / 1_000)} s, and not one span has ended`
      if (!wrong && heard === 0) return
      drawn = 0
      over = 0
      heard = 0
      since = undefined
      wrong = undefined
    },
  }
}
