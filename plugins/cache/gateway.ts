import type { Call } from '../call.ts'
import type { Host } from '../host.ts'
import type { Acting } from '../layer.ts'
import type { CacheConfig } from './config.ts'
import { decide } from './decide.ts'
import { type FoldedStep, stepFromConfig } from './fold.ts'
import { createParts } from './parts.ts'
import type { PurgeScope } from './purges.ts'
import { settle } from './settle.ts'
import type { CacheStep } from './step.ts'
import { giveUp } from './visit.ts'

declare module '../host.ts' {
  interface Host {
    /**
     * Digest of the rules of every layer further in than the cache, as selected for this call, with the facts those rules name. Undefined
     * when an answer must not be kept, as with a clock that is not rounded. Absent: there is nothing further in that has rules.
     */
    readonly insideDigest?: (call: Call) => string | undefined
    /** The prompt version that this call is answered under, for purging; absent or undefined: the start of the inside digest. */
    readonly promptVersion?: (call: Call) => string | undefined
  }
}

/** The cache's half, with what an operator may do to it. */
export interface CacheActing extends Acting {
  /**
   * Forgets stored answers: of a tenant, a route, a prompt version, what fits all that are given, or everything. Curated answers stay. An
   * answer that is still under way is not stored afterwards. This process follows at once, other replicas within `localTtlMs`, and a runner
   * with its next call; that one forgets all of the route, whoever they are for. Gives back how many went, as far as they were counted.
   * Throws `store_lost` when the other replicas could not be told.
   */
  purge(scope: PurgeScope): Promise<number>
}

/** Opens the gateway half. Throws `config_invalid` with every fault. */
export function openCache(config: CacheConfig, host: Host): CacheActing {
  return createCache(stepFromConfig(config, host), host)
}

/** The half that executes a step, on whichever side. Throws `config_invalid` with every fault. */
export function actCache(step: CacheStep, host: Host): CacheActing {
  return createCache({ step, places: [], faults: [] }, host)
}

function createCache(folded: FoldedStep, host: Host): CacheActing {
  const parts = createParts(folded, host)
  const holdsBack = folded.step.output_validation?.quality_score?.retryLargest ?? false
  return {
    decide: (call, mode) => decide(parts, call, mode),
    settle: (call, reply, turn) => settle(parts, call, { reply, turn }),
    buffers: () => holdsBack,
    release(call) {
      const visit = parts.visits.get(call.id)
      if (!visit) return
      parts.visits.delete(call.id)
      if (!visit.judging) giveUp(visit, parts.flights)
    },
    tells() {
      const purged = parts.storage.told(host.clock.now())
      return purged.length > 0 ? { purged } : undefined
    },
    purge: (scope) => parts.storage.purge(scope),
    async close() {
      parts.leases?.close()
    },
  }
}
