import { isClock } from './clock.ts'
import { compiledRule } from './compiled.ts'
import type { PromptRule } from './rule.ts'

// These stand in the facts whatever a claim of the same name says.
const factsAlways = new Set(['id', 'user_id', 'tenant', 'scopes', 'model'])

/** Claims of a caller that the operator's templates, decorators and paths may look at, sorted. */
export function claimsOf(rule: PromptRule): readonly string[] {
  const { templates, decorators, paths } = compiledRule(rule)
  const texts = [...templates.values(), ...decorators.map((each) => each.text)]
  const named = texts.flatMap(({ template }) => template.names).map((name) => claimOfName(name, rule))
  const read = [...paths.values()].filter(({ source }) => source === 'facts').map(({ steps }) => claimOfSteps(steps))
  return [...new Set([...named, ...read].filter((claim) => claim !== undefined))].sort()
}

function claimOfName(name: string, { variables }: PromptRule): string | undefined {
  const [first = '', second] = name.split('.')
  if (isClock(name) || (second !== undefined && (first === 'vars' || first === 'facts'))) return undefined
  if (first === 'claims') return second ?? first
  return Object.hasOwn(variables, first) || factsAlways.has(first) ? undefined : first
}

function claimOfSteps([first, second]: readonly (string | number)[]): string | undefined {
  const name = first === 'claims' ? second : first
  return typeof name !== 'string' || factsAlways.has(name) ? undefined : name
}
