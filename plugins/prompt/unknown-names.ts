import { isClock } from './clock.ts'
import { compiledRule } from './compiled.ts'
import type { PromptRule } from './rule.ts'

const factNames = ['model', 'client_ip', 'id', 'user_id', 'tenant', 'tier', 'scopes']
const forced = ['vars', 'facts', 'claims']

/** Names in a rule's templates and decorators that neither the operator nor a declared name can fill. */
export function unknownNames(rule: PromptRule): readonly string[] {
  const { templates, decorators } = compiledRule(rule)
  const names = new Set(
    [...templates.values(), ...decorators.map((each) => each.text)].flatMap((each) => each.template.names),
  )
  return [...names].filter((name) => !isTaken(rule, name))
}

/** Whether a name is filled by a clock, the operator's settings, what is known of a caller, or a declared claim. */
export function isTaken({ variables, paths, declared }: PromptRule, name: string): boolean {
  const [first = ''] = name.split('.')
  return (
    isClock(name) ||
    Object.hasOwn(variables, first) ||
    Object.hasOwn(paths, first) ||
    [...factNames, ...forced, ...declared].includes(first)
  )
}

/**
 * Names that a caller's directives may fill: those whose value a template or decorator of the operator's shows and that nothing else
 * fills. A name that only switches a section is none: what it opens is for the operator to say.
 */
export function openNames(rule: PromptRule): ReadonlySet<string> {
  const { templates, decorators } = compiledRule(rule)
  const texts = [...templates.values(), ...decorators.map((each) => each.text)]
  const shown = texts.flatMap(({ template }) => template.shown)
  return new Set(shown.filter((name) => !name.includes('.') && !isTaken(rule, name)))
}
