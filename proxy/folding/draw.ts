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

/**
 * Whether a unit belongs to the share of a layer that the runner decides for, in basis points: always the same units first, whatever the
 * share. `salt` is the rollout's, so that another rollout has others go first.
 */
export function isInShare({ layer, salt = '' }: Drawn, unit: string, share: number): boolean {
  const bucket = Number.parseInt(hash('sha256', `${salt}|${layer}|${unit}`).slice(0, 12), 16) % 10_000
  return bucket < share
}

/** What is drawn for. */
export interface Drawn {
  readonly layer: string
  readonly salt?: string | undefined
}
