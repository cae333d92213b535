import { absent } from '../path.ts'
import { isClock } from './clock.ts'
import { compiledRule } from './compiled.ts'
import { controlAsked } from './controllability.ts'
import { contextLimit } from './fit.ts'
import type { PromptRule } from './rule.ts'
import { matches, possibleTemplates } from './select.ts'
import type { Lookup } from './template.ts'
import { answeredBy, inlineLookupFor, lookupFor, type PromptCall } from './variables.ts'

/**
 * Everything of the rule that bears on a call, with the values of all names its templates mention, as plain data for a digest. `model`
 * is the one that answers; undefined when routing has not spoken yet, and then every template that some model could bring is in it.
 * `cacheable` is false when a template names a clock that is not rounded.
 */
export function promptRuleFor(
  rule: PromptRule,
  call: PromptCall,
  model: string | undefined,
): Readonly<Record<string, unknown>> {
  const compiled = compiledRule(rule)
  const subject = { principal: call.facts.principal, model }
  const names = new Set<string>()
  const templates = possibleTemplates(rule, subject).flatMap(({ name, version, models = null }) => {
    const text = compiled.templates.get(`${name}\n${version}`)
    for (const each of text?.template.names ?? []) names.add(each)
    return text ? [{ name, version, models, digest: text.digest, role: text.role, position: text.position }] : []
  })
  const decorators = compiled.decorators.flatMap(({ decorator, text }) => {
    if (!matches(decorator.when, subject)) return []
    for (const each of text.template.names) names.add(each)
    return [
      { role: decorator.role, position: decorator.position, digest: text.digest, when: decorator.when.model ?? null },
    ]
  })
  const { inline } = compiled
  const own = inline?.template.names ?? []
  const asking = answeredBy(call, model ?? '')
  return {
    templates,
    decorators,
    values: names.size === 0 ? {} : valuesOf([...names], lookupFor(rule, compiled.paths, asking)),
    ...(inline && { inline: { digest: inline.digest, values: valuesOf(own, inlineLookupFor(rule, asking)) } }),
    cacheable: rule.enable_determinism || ![...names, ...own].some(isClock),
    ...settings(rule, call, model),
  }
}

function valuesOf(names: readonly string[], lookup: Lookup): object {
  const values = names.toSorted().map((name) => [name, lookup(name)] as const)
  return Object.fromEntries(values.filter(([, value]) => value !== absent))
}

/** What else changes a request: adaptations that are on, the control asked for, and how it is made to fit. */
function settings(rule: PromptRule, call: PromptCall, model: string | undefined): object {
  const adaptations = Object.entries(rule.adaptations).filter(([, each]) => each.enabled)
  const { controllability, context } = rule
  // Always here: a key made of chosen fields has neither the member nor the header.
  const control = controllability.enabled && (controlAsked(call.request, call.headers, controllability) ?? null)
  const fitted =
    model === undefined
      ? context.maxTokens !== null || Object.keys(context.modelTokens).length > 0
      : contextLimit(context, model) !== undefined
  return {
    ...(adaptations.length > 0 && { adaptations: Object.fromEntries(adaptations) }),
    ...(control && { control, names: controllability.names, families: controllability.families }),
    ...(fitted && { context }),
  }
}
