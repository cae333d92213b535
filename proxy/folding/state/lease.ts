import type { RedisLine } from '../../../config/store/redis-line.ts'
import { leadScript, leaveScript, stateKeys } from './scripts.ts'
import type { Leading } from './state.ts'
import type { Timers } from './timers.ts'

/** The lease of one replica: it leads while it holds it, and stops well before anybody else can have it. */
export interface Lease {
  /** Takes it or keeps it, where it can. Never throws. */
  renew(): Promise<void>
  /** The fence, while it is safe to act on it. At once. */
  held(): Leading | undefined
  /** For how long it has been held without a break, in milliseconds. */
  heldForMs(): number
  /** Takes note of a fence that others were given. */
  see(fence: number): void
  /** Gives it back. Never throws. */
  leave(): Promise<void>
}

/** How a lease is held. */
export interface LeaseTerms {
  readonly line: RedisLine
  readonly timers: Timers
  /** Who holds it: one run of one replica. */
  readonly holder: string
  readonly leaseMs: number
  /** Replicas of Redis that have to know of it: on the smaller side of a split nobody leads. 0: none. */
  readonly replicas: number
}

/** The part of a lease in which its holder acts: clocks run differently, and a process may stand still between looking and acting. */
export const actingShare = 0.6

/** How long a replica of Redis is waited for, in milliseconds. */
export const replicationWaitMs = 200

/** Makes a {@link Lease}, not held. */
export function createLease({ line, timers, holder, leaseMs, replicas }: LeaseTerms): Lease {
  let fence = 0
  let highest = 0
  let since = timers.elapsed()
  let until = Number.NEGATIVE_INFINITY
  const isHeld = (): boolean => timers.elapsed() < until
  const ask = async (): Promise<number> => {
    const run = [leadScript, [stateKeys.lease, stateKeys.fence], [holder, leaseMs, highest]] as const
    if (replicas === 0) return Number((await line.run(...run))[0])
    const { reply, replicated } = await line.write([...run], { replicas, waitMs: replicationWaitMs })
    return replicated >= replicas ? Number(reply[0]) : 0
  }
  return {
    async renew() {
      // From when it was asked: that is the earliest that the lease can have begun.
      const asked = timers.elapsed()
      const given = await ask().catch(() => undefined)
      if (given === undefined) return
      if (given === 0) {
        until = Number.NEGATIVE_INFINITY
        return
      }
      if (given !== fence || !isHeld()) since = timers.elapsed()
      fence = given
      highest = Math.max(highest, given)
      until = asked + leaseMs * actingShare
    },
    held: () => (isHeld() ? { fence } : undefined),
    heldForMs: () => (isHeld() ? timers.elapsed() - since : 0),
    see(given) {
      highest = Math.max(highest, given)
      // Somebody was given the lease after us.
      if (given > fence) until = Number.NEGATIVE_INFINITY
    },
    async leave() {
      until = Number.NEGATIVE_INFINITY
      await line.run(leaveScript, [stateKeys.lease, stateKeys.seen], [holder]).catch(() => undefined)
    },
  }
}
