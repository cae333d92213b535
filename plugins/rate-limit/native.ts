import type { NativeContract } from '../layer.ts'
import type { Verdict } from '../verdict.ts'
import { claimsOf } from './fold.ts'
import { actingOver } from './gateway.ts'
import { rateLimitProbes } from './probes.ts'
import { limitsFromStep, type RateLimitStep, rateLimitStep } from './step.ts'

/** The runner's half: the same limits, counted by the runner's own tokens. */
export const rateLimitNative: NativeContract<RateLimitStep> = {
  version: 1,
  step: rateLimitStep,
  stateful: true,
  act: (step, seat) => actingOver(step, limitsFromStep(step), seat),
  essence,
  claims: claimsOf,
  probes: rateLimitProbes,
}

/** What must agree: whether the call passes, and if not, how it is refused. Levels are a side's own. */
function essence(verdict: Verdict): unknown {
  return verdict.kind === 'refuse' ? { kind: 'refuse', code: verdict.error.code } : { kind: verdict.kind }
}
