import { type Call, createCall, type Facts, type Principal } from './call.ts'
import type { Route } from './chat.ts'
import type { ExecutionContext } from './execution-context.ts'
import type { ClaimValue, ContextFacts } from './execution-context-facts.ts'

/** What of a call travels: whether the acting layers read the principal, which claims, and which request headers they name. */
export interface FactWishes {
  readonly principal: boolean
  readonly claims: readonly string[]
  readonly headers: readonly string[]
}

/** What the acting layers read or name of what is known about a call; nothing else. */
export function contextFactsFromCall({ facts, headers }: Call, wishes: FactWishes): ContextFacts {
  const { principal, client_ip, target, largest } = facts as Partial<Facts> & { readonly largest?: boolean }
  const told: Record<string, ContextFacts[string]> = {}
  if (client_ip !== undefined) told['client_ip'] = client_ip
  if (wishes.principal && principal) Object.assign(told, principalFacts(principal, wishes.claims))
  if (target) told['target'] = target
  if (largest) told['largest'] = largest
  const named = wishes.headers.filter((name) => headers[name] !== undefined)
  if (named.length > 0) told['headers'] = Object.fromEntries(named.map((name) => [name, headers[name] as string]))
  return told
}

function principalFacts(principal: Principal, names: readonly string[]): ContextFacts {
  const { id, tenant, tier, scopes, method } = principal
  const claims = names.filter((name) => Object.hasOwn(principal.claims, name))
  return {
    id,
    tenant,
    tier,
    method,
    ...(scopes.length > 0 ? { scopes } : {}),
    ...(claims.length > 0
      ? { claims: Object.fromEntries(claims.map((name) => [name, principal.claims[name] as ClaimValue])) }
      : {}),
  }
}

/** What a call at the runner is made of beside its context. */
export interface CallParts {
  readonly route: Route
  readonly body: Buffer
  /** Headers that came with it and are not in the context: the caller's credentials. */
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

/** The call as the layers at the runner see it. */
export function callFromContext({ id, now, facts }: ExecutionContext, parts: CallParts): Call {
  const { route, body, signal } = parts
  const headers = { ...(facts['headers'] as Readonly<Record<string, string>> | undefined), ...parts.headers }
  return createCall({ id, route, now, body, headers, facts: factsFromContext(facts), signal })
}

function factsFromContext(said: ContextFacts): Partial<Facts> {
  const { client_ip, id, tenant, tier = '', scopes = [], method, claims = {}, target } = said
  const principal = { id, tenant, tier, scopes, claims, method } as Principal
  return {
    ...(client_ip === undefined ? {} : { client_ip }),
    ...(id === undefined || tenant === undefined ? {} : { principal }),
    ...(target === undefined ? {} : { target }),
    ...(said['largest'] === true ? { largest: true } : {}),
    ...(said['purged'] === undefined ? {} : { purged: said['purged'] }),
  } as Partial<Facts>
}
