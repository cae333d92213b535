import type { Call } from '../call.ts'
import { outputLimit } from '../chat.ts'
import type { GatewayError } from '../errors.ts'
import type { Host } from '../host.ts'
import { type Demand, leastTokens, neverFits, type Quota } from './rule.ts'

/** What a call will probably use, and how sure that is. */
export interface Estimate extends Demand {
  /** How far off `input` may be, in tokens; 0 once it was counted exactly. */
  readonly error: number
}

/** What a call will use before it has run, as estimated. Throws what parsing the body throws. */
export function estimateOf(call: Call, host: Pick<Host, 'tokens'>): Estimate {
  return estimateFrom(call, host.tokens.estimate(call.request))
}

/** An estimate of these numbers for a call. Throws what parsing the body throws. */
export function estimateFrom(call: Call, { input, error, output }: Omit<Estimate, 'stated'>): Estimate {
  return { input, error, output, stated: output === 0 || outputLimit(call.request) !== undefined }
}

/** An exact count in place of the estimate, where a runner can give one. */
export async function exactly(estimate: Estimate, call: Call, host: Pick<Host, 'tokens'>): Promise<Estimate> {
  if (estimate.error === 0) return estimate
  const input = await host.tokens.exact(call)
  return input === undefined ? estimate : { ...estimate, input, error: 0 }
}

/** Whether an exact count could turn the answer to the question if `tokens`, of which the prompt is estimated, fit into `room`. */
export function inDoubt(estimate: Estimate, tokens: number, room: number): boolean {
  return estimate.error > 0 && Math.abs(tokens - room) <= estimate.error
}

/** The quota that a call can never fit into, as the error it gets; undefined when it fits all. */
export function impossible(estimate: Estimate, quotas: readonly Quota[]): GatewayError | undefined {
  const quota = quotas.find((each) => each.of === 'tokens' && leastTokens(estimate) > each.capacity)
  return quota && neverFits(estimate, quota)
}
