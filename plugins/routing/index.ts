import { defineLayer } from '../layer.ts'
import type { Target } from '../reply.ts'
import { type RoutingConfig, routingConfig } from './config.ts'
import { fold, stays } from './fold.ts'
import { openRouting } from './gateway.ts'
import { native } from './native.ts'
import type { RoutingStep } from './step.ts'
import { tighten } from './tighten.ts'

declare module '../call.ts' {
  interface Facts {
    /** Where the call may be answered, best first; the next is tried when one fails. Written by routing. */
    target: readonly Target[]
  }
}

export { routingRuleFor } from './rule.ts'

/** Which model and runner answers: shares of the token budget among targets, kept by conversation where shares allow. */
export const routing = defineLayer<'routing', RoutingConfig, RoutingStep>({
  name: 'routing',
  reads: ['principal', 'largest'],
  writes: ['target'],
  answers: false,
  // The model in the bytes that leave is the target's, put there for each attempt.
  rewrites: true,
  meters: true,
  routes: ['chat', 'completions', 'messages', 'embeddings'],
  config: routingConfig,
  open: openRouting,
  stays,
  fold,
  tighten,
  native,
})
