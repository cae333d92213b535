import type { GatewayError } from '../../../plugins/errors.ts'
import type { FallbackReason } from '../../../plugins/execution-context-fallback.ts'
import { type ContextRefusal, fallbackReasonFromRefusal } from '../../../plugins/execution-context-refusal.ts'
import { Fallback, fallbackFromError } from '../fallback.ts'

/** Why a layer cannot act at a runner: the reason a call falls back for, and words for people. */
export interface WhyNot {
  readonly reason: FallbackReason
  readonly words: string
}

/** What failed on the way to a runner, as a reason. */
export function whyFromError(error: GatewayError): WhyNot {
  return { reason: fallbackFromError(error)?.reason ?? 'runner-error', words: error.message }
}

/** Why a runner did not take what was signed for it; `what` names that, such as `a policy`. */
export function fallbackFromRefusal(refusal: ContextRefusal, what: string): Fallback {
  const words = `the runner refused ${what}: ${refusal.code} (${refusal.detail})`
  return new Fallback(fallbackReasonFromRefusal(refusal), words, refusal.layer === undefined ? [] : [refusal.layer])
}

/** Whether it would not be so again after another handshake: the runner was away, was another process by then, or had no room. */
export function passesBy(error: GatewayError): boolean {
  if (error instanceof Fallback) return error.reason === 'audience' || error.reason === 'no-capacity'
  return ['runner_unreachable', 'runner_timeout', 'runner_error', 'client_closed'].includes(error.code)
}
