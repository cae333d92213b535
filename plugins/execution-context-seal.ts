import { contextFault, type ExecutionContext, maxContextBytes } from './execution-context.ts'
import { signJws } from './jws.ts'
import type { SigningKey } from './jws-key.ts'

/** A context as the value of its header, or why it cannot be sent: the caller made it larger than contexts may be. */
export type SealedContext =
  | { readonly ok: true; readonly header: string }
  | { readonly ok: false; readonly reason: 'context-too-large'; readonly detail: string }

/**
 * Signs a context for the header `x-execution-context`. What exceeds `maxBytes` (the instance's `maxContextBytes`, at most and by default
 * 4,096) or a bound of a member is not sent, so that what a caller brings along is never taken for a fault of the runner.
 */
export function sealContext(
  context: ExecutionContext,
  key: SigningKey,
  maxBytes: number = maxContextBytes,
): SealedContext {
  const fault = bringsAlong(context) ? contextFault(context) : undefined
  if (fault !== undefined) return { ok: false, reason: 'context-too-large', detail: fault }
  const header = signJws(JSON.stringify(context), key, 'exec-ctx+jws')
  const most = Math.min(maxBytes, maxContextBytes)
  if (header.length <= most) return { ok: true, header }
  return { ok: false, reason: 'context-too-large', detail: `${header.length} bytes; at most ${most} are taken` }
}

/** What callers can make too large stands in facts and reads; whatever else there is was made here, or is an address, where there is one. */
function bringsAlong({ facts, reads }: ExecutionContext): boolean {
  if (reads !== undefined || facts.client_ip === '') return true
  for (const name in facts) if (name !== 'client_ip') return true
  return false
}
