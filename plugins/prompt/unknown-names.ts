import { isClock } from './clock.ts'
import { compiledRule } from './compiled.ts'
import type { PromptRule } from './rule.ts'

const factNames = ['model', 'client_ip', 'id', 'user_id', 'tenant', 'tier', 'scopes']

/** Names in a rule's templates and decorators that neither the operator nor a declared name can fill. */
export function unknownNames(rule: PromptRule): readonly string[] {
  const { templates, decorators } = compiledRule(rule)
  const names = new Set(
    [...templates.values(), ...decorators.map((each) => each.text)].flatMap((each) => each.template.names),
  )
  const holders = [Object.keys(rule.variables), Object.keys(rule.paths), factNames, rule.declared]
  const known = new Set([...holders.flat(), 'vars', 'facts', 'claims'])
  return [...names].filter((name) => !isClock(name) && !known.has(name.split('.')[0] ?? ''))
}
