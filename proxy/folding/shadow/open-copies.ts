import type { ShadowConfig } from '../../../config/shadow.ts'
import type { Route } from '../../../plugins/chat.ts'
import type { Host } from '../../../plugins/host.ts'
import type { ContextAsk, SealedSend } from '../context.ts'
import { createPairing } from '../diff/pair-outcome.ts'
import { createShadowBudget } from '../diff/shadow-budget.ts'
import type { Similar } from '../diff/similarity.ts'
import { createStratifiedSample } from '../diff/stratified-sample.ts'
import type { FoldedPolicy } from '../policies.ts'
import type { Instances } from '../processes/instances.ts'
import type { CompareSettings } from './comparing.ts'
import { type Copies, createCopies } from './copies.ts'
import type { CopyLayers } from './copy-plan.ts'
import type { Shadow } from './shadow.ts'
import { createTripleBook } from './triples.ts'

/** What {@link Copies} are opened with, for one configuration. */
export interface OpenCopiesParts extends CopyLayers {
  readonly config: ShadowConfig
  readonly shadow: Shadow
  readonly settings: CompareSettings
  readonly host: Host
  readonly similar: Similar
  readonly instances: Instances | undefined
  contexts(ask: ContextAsk): SealedSend
  policyOf(route: Route): FoldedPolicy | undefined
}

/** Opens {@link Copies}; undefined where no call is to be copied. */
export function openCopies(parts: OpenCopiesParts): Copies | undefined {
  const { config, shadow, settings, similar, host, instances, contexts, policyOf, layers, acting } = parts
  if (!instances || config.endToEndSample === 0) return undefined
  return createCopies({
    layers,
    acting,
    sample: createStratifiedSample({ rate: config.endToEndSample }),
    budget: createShadowBudget({
      maxInflight: config.maxInflight,
      live: shadow.live,
      now: () => performance.now(),
    }),
    judge: createPairing({ seed: host.secret('shadow pairs').toString('hex'), similar }),
    triples: createTripleBook(shadow, settings, () => host.clock.now()),
    way({ target, call }) {
      const instance = instances.pick(target.runner)
      const policy = policyOf(call.route)
      return instance && policy && { instance, policy, contexts }
    },
    now: () => host.clock.now(),
    closed: host.closed,
  })
}
