import type { NativeContract } from '../layer.ts'
import type { Verdict } from '../verdict.ts'
import { actingOver } from './gateway.ts'
import { inspectAuth } from './inspect.ts'
import { lentParts } from './lent-parts.ts'
import { authProbes } from './probes.ts'
import { type AuthStep, authStep, configFromStep } from './step.ts'

/** The runner's half: it verifies the caller's own credential, and believes nobody else's word about it. */
export const authNative: NativeContract<AuthStep> = {
  version: 1,
  step: authStep,
  stateful: false,
  act: (step, seat) => actingOver(configFromStep(step), lentParts(step, seat), seat),
  inspect: inspectAuth,
  essence,
  credentials: credentialsOf,
  probes: authProbes,
}

/** Headers whose credential is verified; where nothing verifies any, none has to travel. */
function credentialsOf({ jwt, apiKeys, credentialHeaders }: AuthStep): readonly string[] {
  return jwt || apiKeys.length > 0 ? credentialHeaders : []
}

/** What must agree: who passes, with what, and how others are refused. */
function essence(verdict: Verdict): unknown {
  if (verdict.kind === 'refuse') return { kind: 'refuse', code: verdict.error.code }
  if (verdict.kind === 'answer' || !verdict.facts.principal) return { kind: verdict.kind }
  const { id, tenant, tier, scopes, claims } = verdict.facts.principal
  return { kind: 'pass', principal: { id, tenant, tier, scopes: scopes.toSorted(), claims } }
}
