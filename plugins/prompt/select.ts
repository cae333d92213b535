import type { Principal } from '../call.ts'
import type { When } from './config.ts'
import type { PromptRule, TemplateRule } from './rule.ts'

/** Whom something is selected for. Without `model` it is not known yet, and every model is possible. */
export interface Subject {
  readonly principal: Principal | undefined
  readonly model: string | undefined
}

/** A template as selected. */
export interface Selected {
  readonly name: string
  readonly version: string
}

/** A template that a subject might get, and for which models; without them, for all that are left. */
export interface Possible extends Selected {
  readonly models?: When['model']
}

/** Whether a condition holds for a subject. */
export function matches(when: When, { principal, model }: Subject): boolean {
  return (
    among(when.tier, principal?.tier ?? '') &&
    among(when.tenant, principal?.tenant ?? '') &&
    (model === undefined || among(when.model, model))
  )
}

function among(wanted: string | readonly string[] | undefined, value: string): boolean {
  if (wanted === undefined) return true
  return typeof wanted === 'string' ? wanted === value : wanted.includes(value)
}

/** The template for a subject; undefined when it gets none. */
export function selectedTemplate(rule: PromptRule, subject: Subject): Selected | undefined {
  const use = rule.use.find((each) => matches(each.when, subject))
  return use ? selected(rule, use.template, use.version) : defaultTemplate(rule)
}

/** Every template that a subject might get once its model is known, in the order of their rules. */
export function possibleTemplates(rule: PromptRule, subject: Subject): readonly Possible[] {
  const possible: Possible[] = []
  for (const use of rule.use) {
    if (!matches(use.when, subject)) continue
    const found = selected(rule, use.template, use.version)
    const models = subject.model === undefined ? use.when.model : undefined
    if (found) possible.push({ ...found, ...(models !== undefined && { models }) })
    if (models === undefined) return possible
  }
  const last = defaultTemplate(rule)
  return last ? [...possible, last] : possible
}

function defaultTemplate(rule: PromptRule): Selected | undefined {
  if (rule.default !== null) return selected(rule, rule.default, undefined)
  const [only, ...others] = Object.keys(rule.templates)
  return only !== undefined && others.length === 0 && rule.use.length === 0
    ? selected(rule, only, undefined)
    : undefined
}

function selected(rule: PromptRule, name: string, version: string | undefined): Selected | undefined {
  const template = Object.hasOwn(rule.templates, name) ? rule.templates[name] : undefined
  return template && { name, version: version ?? askedVersion(rule, template) ?? template.version }
}

/** The version that the caller asks for, where this template has it. What a rule pins stays. */
function askedVersion({ asked }: PromptRule, { texts }: TemplateRule): string | undefined {
  const version = asked?.version
  return version !== undefined && Object.hasOwn(texts, version) ? version : undefined
}
