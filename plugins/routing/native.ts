import type { Seat } from '../host.ts'
import type { NativeContract, StepFinding } from '../layer.ts'
import type { Verdict } from '../verdict.ts'
import { createRouting } from './act.ts'
import { probes } from './probes.ts'
import { type RoutingStep, routingStep } from './step.ts'

/** The half at the runner. */
export const native: NativeContract<RoutingStep> = {
  version: 1,
  step: routingStep,
  // Counters that are lost, or counted apart on several instances, converge to the shares by themselves.
  stateful: false,
  act: createRouting,
  inspect,
  essence,
  headers: ({ affinity, conversationHeader }) => (affinity.enabled ? [conversationHeader] : []),
  probes,
}

/** A target's model that the runner does not serve is refused. */
function inspect({ targets }: RoutingStep, { models }: Seat): StepFinding {
  const index = targets.findIndex(({ model }) => !models.includes(model))
  const missing = targets[index]
  if (!missing) return { status: 'compiled' }
  const known = models.length > 0 ? `name one of: ${models.join(', ')}` : 'load a model first'
  return {
    status: 'refused',
    code: 'UNRESOLVED_REF',
    path: `targets[${index}].model`,
    value: missing.model.slice(0, 512),
    try: known.slice(0, 1024),
  }
}

/** Where the call goes first, or the code of the refusal. The order of those who stand in hangs on the state of a side. */
function essence(verdict: Verdict): unknown {
  if (verdict.kind === 'refuse') return { code: verdict.error.code }
  const first = verdict.kind === 'pass' ? verdict.facts.target?.[0] : undefined
  return { target: first ? [first.runner, first.model] : null }
}
