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

/** The paths of a rule, compiled. */
export function pathsOf(rule: PromptRule): ReadonlyMap<string, Path> {
  const declared = new Set(rule.declared)
  return new Map(Object.entries(rule.paths).map(([name, text]) => [name, compilePath(text, declared)]))
}

/**
 * Where the names of a template have their values, first found: clocks, the operator's paths and variables, facts, claims of the
 * caller. `vars.`, `facts.` and `claims.` force. Own members only; an empty tier or tenant counts as absent.
 */
export function lookupFor(
  rule: PromptRule,
  paths: ReadonlyMap<string, Path>,
  call: PromptCall & { model: string },
): Lookup {
  const facts = factsOf(call)
  const claims = call.facts.principal?.claims ?? {}
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
    return absent
  }
}

/** The instant that clocks show: the call's own, rounded where determinism is on. */
export function instant(rule: PromptRule, now: number): number {
  return rule.enable_determinism ? rounded(now, rule.clock.granularityMs) : now
}

function factsOf({ facts, model }: PromptCall & { model: string }): Record<string, unknown> {
  const { principal, client_ip } = facts
  const known: Record<string, unknown> = { model }
  if (client_ip) known['client_ip'] = client_ip
  if (!principal) return known
  for (const key of ['id', 'tenant', 'tier'] as const) if (principal[key]) known[key] = principal[key]
  known['user_id'] = known['id']
  known['scopes'] = principal.scopes
  return known
}
