import type { ChatRequest } from '../chat.ts'
import { withAnchor } from './anchor.ts'
import type { Asked } from './asked.ts'
import { type CompiledText, compiledRule } from './compiled.ts'
import type { Decorator, PromptConfig, TemplateConfig } from './config.ts'
import { controlAsked, withControl } from './controllability.ts'
import { aroundLastUser, type Messages, withInstructions } from './messages.ts'
import { withRecap } from './recap.ts'
import { matches, selectedTemplate } from './select.ts'
import { requestForSteps, type StepsPlan, stepsAsked } from './steps.ts'
import { type Lookup, renderTemplate } from './template.ts'
import { toolsToName } from './two-phase-tools.ts'
import { answeredBy, inlineLookupFor, lookupFor, type PromptCall } from './variables.ts'

/** A template whose texts are at hand, by version. */
export interface TemplateRule extends Pick<TemplateConfig, 'role' | 'position' | 'version'> {
  readonly texts: Readonly<Record<string, string>>
}

/** The settings of prompt as plain data, files read: the same in the gateway and at the runner. */
export interface PromptRule extends Omit<PromptConfig, 'templates'> {
  readonly templates: Readonly<Record<string, TemplateRule>>
  /** Names that paths resolve in facts only, sorted. */
  readonly declared: readonly string[]
  /** Whether a caller may bring system text of its own; absent: no. */
  readonly inlineTemplate?: boolean
  /** What a caller's directives add. */
  readonly asked?: Asked
}

/** Which template a call got. `digest` is the SHA-256 of its text, before variables. */
export interface TemplateFact {
  readonly name: string
  readonly version: string
  readonly digest: string
}

/** A request with everything said that is to be said, not yet made to fit. */
export interface Prepared {
  /** The very request that came when nothing changed. */
  readonly request: ChatRequest
  readonly template: TemplateFact | undefined
  /** The answer comes in the steps schema. */
  readonly steps: StepsPlan | undefined
  /** Tools of which one is to be named first. */
  readonly naming: readonly string[] | undefined
}

/** Applies the rule to a call that `model` will answer. Throws `missing_variable` and `invalid_request`, naming the field. */
export function preparePrompt(rule: PromptRule, call: PromptCall, model: string): Prepared {
  const { request } = call
  const subject = { principal: call.facts.principal, model }
  const compiled = compiledRule(rule)
  const asking = answeredBy(call, model)
  const lookup = lookupFor(rule, compiled.paths, asking)
  const selected = selectedTemplate(rule, subject)
  const text = selected && compiled.templates.get(`${selected.name}\n${selected.version}`)
  const decorators = compiled.decorators.filter(({ decorator }) => matches(decorator.when, subject))
  const { inline } = compiled
  const asked = inline && renderTemplate(inline.template, inlineLookupFor(rule, asking))
  const messages = said(request.messages ?? [], { rule, text, asked, decorators, lookup })
  const template = selected && text && { name: selected.name, version: selected.version, digest: text.digest }
  const spoken = messages === request.messages ? request : { ...request, messages }
  const control = controlAsked(request, call.headers, rule.controllability)
  const controlled = control ? withControl(spoken, control, { model, config: rule.controllability }) : spoken
  const steps = stepsAsked(request, rule.adaptations.steps)
  const naming = toolsToName(request, rule.adaptations['two-phase-tools'])
  return { request: steps ? requestForSteps(controlled, steps) : controlled, template, steps, naming }
}

/** A decorator with its compiled text. */
export interface CompiledDecorator {
  readonly decorator: Decorator
  readonly text: CompiledText
}

interface Saying {
  readonly rule: PromptRule
  readonly text: CompiledText | undefined
  /** The caller's own system text. */
  readonly asked: string | undefined
  readonly decorators: readonly CompiledDecorator[]
  readonly lookup: Lookup
}

function said(came: Messages, { rule, text, asked, decorators, lookup }: Saying): Messages {
  const { anchor, recap } = rule.adaptations
  let messages = came
  if (text) messages = withInstructions(messages, renderTemplate(text.template, lookup), text)
  if (asked) messages = withInstructions(messages, asked, { position: 'after', role: 'system' })
  const spoken = decorators.map((each) => ({ ...each.decorator, text: renderTemplate(each.text.template, lookup) }))
  messages = decorated(messages, spoken, 'system')
  messages = withAnchor(withRecap(messages, recap), anchor)
  return decorated(messages, spoken, 'user')
}

function decorated(came: Messages, decorators: readonly Decorator[], role: Decorator['role']): Messages {
  const mine = decorators.filter((each) => each.role === role)
  const before = textAt(mine, 'prepend')
  const after = textAt(mine, 'append')
  if (role === 'user') return before || after ? aroundLastUser(came, { before, after }) : came
  const messages = withInstructions(came, before, { position: 'before', role: 'system' })
  return withInstructions(messages, after, { position: 'after', role: 'system' })
}

function textAt(decorators: readonly Decorator[], position: Decorator['position']): string {
  return decorators
    .filter((each) => each.position === position && each.text !== '')
    .map((each) => each.text)
    .join('\n\n')
}
