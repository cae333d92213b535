import type { Clock } from '../../../plugins/host.ts'

/** Work by digest that many ask for at once, and that is done once for all of them. */
export interface Renewals {
  /** Does `work`, or waits for the same that is under way, or takes the outcome of one that ended less than a second ago. */
  once(digest: string, work: () => Promise<void>): Promise<void>
}

interface Renewal {
  readonly done: Promise<void>
  endedAt?: number
}

/** Calls that were refused for one and the same loss may come back one after another; a runner that loses everything is not asked more often. */
const quietMs = 1_000

/** Makes {@link Renewals}. */
export function createRenewals(clock: Clock): Renewals {
  const renewals = new Map<string, Renewal>()
  return {
    once(digest, work) {
      const known = renewals.get(digest)
      if (known && (known.endedAt === undefined || clock.now() - known.endedAt < quietMs)) return known.done
      const renewal: Renewal = { done: work() }
      renewals.set(digest, renewal)
      const ended = (): void => {
        renewal.endedAt = clock.now()
      }
      renewal.done.then(ended, ended)
      return renewal.done
    },
  }
}
