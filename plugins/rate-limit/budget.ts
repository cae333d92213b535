import { gatewayError } from '../errors.ts'

/** The tokens that a stream may still use; asks for more before it runs out. */
export interface Budget {
  /** Called with the tokens used so far. Throws `rate_limited` once they are beyond what was given and no more is left. */
  spend(tokens: number): void
}

/** How a budget gets more: as many of `tokens` as the limits have left, 0 for none. */
export type Extend = (tokens: number) => Promise<number>

// More is asked for when this share of what was given is used, so that it is there in time.
const askAt = 0.75
const leastExtension = 64

/** Makes a {@link Budget} of the tokens reserved before the call. */
export function createBudget(reserved: number, extend: Extend): Budget {
  let given = reserved
  let asking = false
  let last = false
  const ask = (): void => {
    asking = true
    extend(Math.max(leastExtension, Math.ceil(given / 2))).then(
      (more) => {
        asking = false
        given += more
        last = more === 0
      },
      () => {
        // The store is away: whoever is streaming already is not cut for that.
        asking = false
        given = Number.POSITIVE_INFINITY
      },
    )
  }
  return {
    spend(tokens) {
      if (tokens >= given * askAt && !asking && !last) ask()
      if (last && tokens > given)
        throw gatewayError('rate_limited', 'the token budget ended while the answer was streamed')
    },
  }
}
