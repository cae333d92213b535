import type { LayerMember } from '../../../plugins/acknowledgement.ts'
import type { Call } from '../../../plugins/call.ts'
import type { Layer } from '../../../plugins/layer.ts'
import type { Verdict } from '../../../plugins/verdict.ts'
import { type Comparison, comparisonFrom, type Finding, type SkipReason } from './comparison.ts'
import { strataFromCall } from './strata.ts'
import { createTenantKeys, type TenantKeys } from './tenant-keys.ts'
import { diffVerdict, type GatewayVerdict, gatewayVerdict, type LimitSlack } from './verdict-diff.ts'

/** One layer's two halves on one call. */
export interface BoundaryPair {
  readonly layer: Layer
  /** The call as the gateway half saw it. */
  readonly call: Call
  readonly verdict: Verdict
  /** The layer's member of the acknowledgement, whole; undefined when the runner did not say. */
  readonly said: LayerMember | undefined
  /** What the gateway half made of the answer, once that is over. */
  readonly ended?: GatewayVerdict['ended']
  /** Of a limit that the gateway half has judged by counters of its own. */
  readonly slack?: LimitSlack
  /** A cache has answered the call. */
  readonly cacheHit: boolean
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** Compares what the two halves of layers say, one call at a time. Never throws. */
export interface Boundary {
  compare(pair: BoundaryPair): Comparison
  /** A call that could have been compared and was not, or was not drawn. */
  skip(pair: Pick<BoundaryPair, 'layer' | 'call' | 'cacheHit' | 'at'>, reason: SkipReason): Comparison
}

/** Makes a {@link Boundary}. It remembers whose calls have which cache keys, so one serves all layers of a process. */
export function createBoundary(keys: TenantKeys = createTenantKeys()): Boundary {
  const about = (pair: Parameters<Boundary['skip']>[0], finding: Finding, verdict?: Verdict): Comparison => {
    const { layer, call, at } = pair
    const found = verdict?.kind === 'pass' ? verdict.facts.principal : undefined
    const tier = (call.facts.principal ?? found)?.tier ?? ''
    return comparisonFrom(finding, { layer: layer.name, call: call.id, tier, strata: strataFromCall(call, pair), at })
  }
  return {
    compare(pair) {
      const { layer, call, verdict, said, ended, slack } = pair
      const here = gatewayVerdict(layer, verdict, call)
      const tenant = call.facts.principal?.tenant ?? ''
      const keyed = layer.name === 'cache' && here && said?.e !== undefined
      const foreignKey = keyed ? keys.foreign(tenant, here.digest, said.e as string) : false
      const both = here && ended ? { ...here, ended } : here
      return about(pair, diffVerdict(layer.name, both, { said, foreignKey, ...(slack ? { slack } : {}) }), verdict)
    },
    skip: (pair, reason) => about(pair, { verdict: 'skipped', reason }),
  }
}
