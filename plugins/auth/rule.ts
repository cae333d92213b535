import type { Principal } from '../call.ts'
import { type GatewayError, gatewayError } from '../errors.ts'
import { absent, readSteps } from '../path.ts'
import { pass, refuse, type Verdict } from '../verdict.ts'
import type { ClaimNames } from './config-jwt.ts'

/** Why a call is refused, for logs and traces; the caller is never told. */
export type RefusalReason =
  | 'no-credential'
  | 'ambiguous-credential'
  | 'unknown-api-key'
  | 'malformed'
  | 'algorithm'
  | 'unknown-key'
  | 'signature'
  | 'expired'
  | 'claims'
  | 'no-principal'
  | 'hop-headers'

/** What a profile lookup adds to a principal. */
export interface Profile {
  /** Replaces the principal's tier. */
  readonly tier?: string
  /** Added to the principal's scopes. */
  readonly scopes: readonly string[]
  /** Added to the principal's claims; they win over claims of the same name. */
  readonly claims: Readonly<Record<string, unknown>>
}

/** The one way to say that a call is not authenticated: the same words whatever is wrong (RFC 9110 §11.6.1, RFC 6750 §3). */
export function unauthenticated(reason: RefusalReason): GatewayError {
  return gatewayError('unauthenticated', 'the credential is missing or not valid', {
    headers: { 'www-authenticate': 'Bearer' },
    cause: reason,
  })
}

/** Lets a principal pass if it has every required scope, else refuses, naming the missing ones (RFC 6750 §3.1). */
export function admit(principal: Principal, required: readonly string[]): Verdict {
  const missing = required.filter((scope) => !principal.scopes.includes(scope))
  if (missing.length === 0) return pass({ principal })
  const names = missing.map((scope) => `"${scope}"`).join(', ')
  const challenge = `Bearer error="insufficient_scope", scope="${required.join(' ')}"`
  return refuse(
    gatewayError('forbidden', `required scope is missing: ${names}`, { headers: { 'www-authenticate': challenge } }),
  )
}

/** The principal of verified claims; undefined when they name no caller, or say a tenant or tier that is not a plain value. */
export function principalFromClaims(
  claims: Readonly<Record<string, unknown>>,
  names: ClaimNames,
  fields: readonly string[],
): Principal | undefined {
  const id = plain(readClaim(claims, names.idClaim))
  const tenant = plain(readClaim(claims, names.tenantClaim))
  const tier = plain(readClaim(claims, names.tierClaim))
  if (!id || tenant === '' || tenant === null || tier === null) return undefined
  return {
    id,
    tenant: tenant ?? tenantOf(id, names.defaultTenant),
    tier: tier ?? names.defaultTier,
    scopes: scopesFromClaims(claims, names.scopeClaim),
    claims: Object.fromEntries(
      fields.map((name) => [name, readSteps(claims, [name])] as const).filter(([, value]) => value !== absent),
    ),
    method: 'jwt',
  }
}

/**
 * The tenant of a caller whose tenant is not said. One without a default is a tenant of its own; the prefix keeps a caller from taking
 * another tenant's name as its id.
 */
export function tenantOf(id: string, defaultTenant: string | null): string {
  return defaultTenant ?? `sub:${id}`
}

/** The principal with what its profile adds. */
export function withProfile(principal: Principal, profile: Profile): Principal {
  return {
    ...principal,
    tier: profile.tier ?? principal.tier,
    scopes: [...new Set([...principal.scopes, ...profile.scopes])],
    claims: { ...principal.claims, ...profile.claims },
  }
}

/** Scopes as one text with spaces between (RFC 6749 §3.3), or as a list; anything else holds none. */
export function scopesFromValue(value: unknown): readonly string[] {
  if (typeof value === 'string') return value.split(' ').filter(Boolean)
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
}

function scopesFromClaims(claims: Readonly<Record<string, unknown>>, name: string | null): readonly string[] {
  for (const each of name === null ? ['scope', 'scopes', 'scp'] : [name]) {
    const value = readClaim(claims, each)
    if (value !== absent) return scopesFromValue(value)
  }
  return []
}

/** A claim by its exact name, else by the path that its dots make. Own members only. */
function readClaim(claims: Readonly<Record<string, unknown>>, name: string): unknown {
  const exact = readSteps(claims, [name])
  return exact === absent && name.includes('.') ? readSteps(claims, name.split('.')) : exact
}

/** A text or number as text; undefined when there is none, null when it is something else. */
function plain(value: unknown): string | null | undefined {
  if (value === absent || value === null) return undefined
  if (typeof value === 'string') return value
  return typeof value === 'number' ? String(value) : null
}
