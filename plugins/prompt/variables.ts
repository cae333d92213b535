import type { Facts } from '../call.ts'
import type { ChatRequest } from '../chat.ts'
import { absent, compilePath, type Path, readPath, readSteps } from '../path.ts'
import { clockValue, isClock, rounded } from './clock.ts'
import type { PromptRule } from './rule.ts'
import type { Lookup } from './template.ts'

/** What of a call templates and selectors look at; a `Call` is one. */
export interface PromptCall {
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly facts: Readonly<Partial<Facts>>
  readonly headers: Readonly<Record<string, string>>
  readonly request: ChatRequest
}

/** A call with the model that answers it; empty when that is not known yet. */
export type AskedCall = PromptCall & { readonly model: string }

/** A call as templates look at it. Its members are getters on its prototype, which spreading would lose. */
export function answeredBy({ now, facts, headers, request }: PromptCall, model: string): AskedCall {
  return { now, facts, headers, request, model }
}

/** The paths of a rule, compiled. */
export function pathsOf(rule: PromptRule): ReadonlyMap<string, Path> {
  const declared = new Set(rule.declared)
  return new Map(Object.entries(rule.paths).map(([name, text]) => [name, compilePath(text, declared)]))
}

/**
 * Where the names of a template have their values, first found: clocks, the operator's paths and variables, facts, claims of the
 * caller, and last what a caller's directives fill. `vars.`, `facts.` and `claims.` force. Own members only; an empty tier or tenant counts as absent.
 */
export function lookupFor(rule: PromptRule, paths: ReadonlyMap<string, Path>, call: AskedCall): Lookup {
  const facts = factsOf(call)
  const claims = call.facts.principal?.claims ?? {}
  const asked = rule.asked?.variables
  return (name) => {
    const steps = name.split('.')
    const [first = '', ...rest] = steps
    if (isClock(name)) return clockValue(name, instant(rule, call.now))
    if (rest.length > 0) {
      if (first === 'vars') return readSteps(rule.variables, rest)
      if (first === 'facts') return readSteps(facts, rest)
      if (first === 'claims') return readSteps(claims, rest)
    }
    const path = paths.get(first)
    const read = path ? readPath(path, call as never) : absent
    if (read !== absent) return readSteps(read, rest)
    for (const holder of [rule.variables, facts, claims]) {
      if (Object.hasOwn(holder, first)) return readSteps(holder, steps)
    }
    return asked && Object.hasOwn(asked, name) ? asked[name] : absent
  }
}

/**
 * Where the names of a caller's own template have their values: clocks, facts, and the caller's variables. Neither the operator's values
 * nor claims, of which only those travel to a runner that the operator's rule names.
 */
export function inlineLookupFor(rule: PromptRule, call: AskedCall): Lookup {
  const asked = rule.asked?.variables
  const facts = factsOf(call)
  return (name) => {
    if (isClock(name)) return clockValue(name, instant(rule, call.now))
    if (Object.hasOwn(facts, name)) return facts[name]
    return asked && Object.hasOwn(asked, name) ? asked[name] : absent
  }
}

/** The instant that clocks show: the call's own, rounded where determinism is on. */
export function instant(rule: PromptRule, now: number): number {
  return rule.enable_determinism ? rounded(now, rule.clock.granularityMs) : now
}

function factsOf({ facts, model }: AskedCall): Record<string, unknown> {
  const { principal, client_ip } = facts
  const known: Record<string, unknown> = { model }
  if (client_ip) known['client_ip'] = client_ip
  if (!principal) return known
  for (const key of ['id', 'tenant', 'tier'] as const) if (principal[key]) known[key] = principal[key]
  known['user_id'] = known['id']
  known['scopes'] = principal.scopes
  return known
}
