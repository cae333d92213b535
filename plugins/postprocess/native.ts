import type { NativeContract } from '../layer.ts'
import type { Verdict } from '../verdict.ts'
import { postprocessActing } from './acting.ts'
import { claimsOf } from './claims.ts'
import { inspectStep } from './inspect.ts'
import { postprocessProbes } from './probes.ts'
import { type PostprocessStep, stepSchema } from './step.ts'

/** The half at the runner: the same rules over the answer that it makes. It reads no request header. */
export const postprocessNative: NativeContract<PostprocessStep> = {
  version: 1,
  step: stepSchema,
  stateful: false,
  arms: true,
  act: postprocessActing,
  inspect: inspectStep,
  essence: essenceOf,
  claims: claimsOf,
  probes: postprocessProbes,
}

/** Whether the call goes on, and of a refusal its code: what becomes of the answer is no part of a verdict. */
function essenceOf(verdict: Verdict): unknown {
  return verdict.kind === 'refuse' ? { kind: 'refuse', code: verdict.error.code } : { kind: verdict.kind }
}
