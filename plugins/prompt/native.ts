import type { Seat } from '../host.ts'
import type { NativeContract, StepFinding } from '../layer.ts'
import { promptActing } from './acting.ts'
import { claimsOf } from './claims.ts'
import { promptEssence } from './essence.ts'
import { promptProbes } from './probes.ts'
import type { PromptRule } from './rule.ts'
import { invalidRule, stepFaults } from './rule-faults.ts'
import { promptStep } from './step.ts'

/** The half at the runner: the same rule over the same conversation. */
export const promptNative: NativeContract<PromptRule> = {
  version: 1,
  step: promptStep,
  stateful: false,
  act(step, seat) {
    const faults = stepFaults(step)
    if (faults.length > 0) throw invalidRule(faults)
    return promptActing(step, seat)
  },
  inspect,
  essence: promptEssence,
  headers: ({ controllability: { enabled, header } }) => (enabled ? [header] : []),
  claims: claimsOf,
  probes: promptProbes,
}

function inspect({ context: { strategy, summary } }: PromptRule, { models }: Seat): StepFinding {
  if (strategy !== 'summarise' || !summary || models.includes(summary.model)) return { status: 'compiled' }
  return {
    status: 'refused',
    code: 'UNRESOLVED_REF',
    value: summary.model,
    path: 'context.summary.model',
    try: `name a model that this runner serves (${models.slice(0, 16).join(', ')}), or strategy drop`.slice(0, 1_024),
  }
}
