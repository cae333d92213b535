import { hash } from 'node:crypto'
import type { Call } from '../../plugins/call.ts'

/** By what a layer's calls are kept together: tenant, or conversation and else tenant. */
export type Unit = 'tenant' | 'conversation'

/** The unit of each layer: what counts or is stored by tenant is drawn by tenant, so that no count is split over two sides. */
export const layerUnits: Readonly<Record<string, Unit>> = { auth: 'tenant', 'rate-limit': 'tenant', cache: 'tenant' }

/**
 * What of a call its draw hangs on. Undefined while its tenant is not known, which auth will say; where nobody tells callers apart, their
 * address stands for them. `header` names the conversation.
 */
export function unitOf({ facts, headers }: Call, unit: Unit, { header, auth }: Units): string | undefined {
  const conversation = unit === 'conversation' ? headers[header] : undefined
  if (conversation) return `c:${conversation}`
  if (facts.principal) return `t:${facts.principal.tenant}`
  return auth ? undefined : `a:${facts.client_ip ?? ''}`
}

/** How units are found: the header that names a conversation, lower case, and whether auth tells callers apart. */
export interface Units {
  readonly header: string
  readonly auth: boolean
}

/** Whether a unit belongs to the share of a layer that the runner decides for, in percent: always the same units first, whatever the share. */
export function isInShare(layer: string, unit: string, percent: number): boolean {
  const first = Number.parseInt(hash('sha256', `${layer}\n${unit}`).slice(0, 8), 16)
  return first / 2 ** 32 < percent / 100
}
