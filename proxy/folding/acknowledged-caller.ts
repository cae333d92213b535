import type { Acknowledgement } from '../../plugins/acknowledgement.ts'
import type { Call, Principal } from '../../plugins/call.ts'

/** The call with the caller that the runner has found, where only the runner was to find out. */
export function withCaller(call: Call, { layers }: Acknowledgement): Call {
  const { sub, ten, tier = '' } = layers['auth'] ?? {}
  if (call.facts.principal || sub === undefined || ten === undefined) return call
  const principal: Principal = { id: sub, tenant: ten, tier, scopes: [], claims: {}, method: 'jwt' }
  return call.with({ principal })
}
