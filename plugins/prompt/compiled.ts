import { sha256 } from '../canonical.ts'
import type { Path } from '../path.ts'
import type { TemplateConfig } from './config.ts'
import type { CompiledDecorator, PromptRule } from './rule.ts'
import { compileTemplate, type Template } from './template.ts'
import { pathsOf } from './variables.ts'

/** A text compiled once: the template, where it goes, and its digest. */
export interface CompiledText extends Pick<TemplateConfig, 'role' | 'position'> {
  readonly template: Template
  /** SHA-256 of the text, hex. */
  readonly digest: string
}

/** A rule made ready: nothing is compiled for a call. */
export interface CompiledRule {
  /** By name and version, a line break between. */
  readonly templates: ReadonlyMap<string, CompiledText>
  readonly decorators: readonly CompiledDecorator[]
  readonly paths: ReadonlyMap<string, Path>
  /** The caller's own system text. */
  readonly inline: CompiledText | undefined
}

const made = new WeakMap<PromptRule, CompiledRule>()
// A rule that directives have tightened shares its templates with the operator's.
const madeTexts = new WeakMap<PromptRule['templates'], CompiledRule['templates']>()

/** The rule made ready, once a rule. Throws `config_invalid` for a template that is not one and `invalid_path` for a path. */
export function compiledRule(rule: PromptRule): CompiledRule {
  let compiled = made.get(rule)
  if (!compiled) {
    compiled = compile(rule)
    made.set(rule, compiled)
  }
  return compiled
}

function compile(rule: PromptRule): CompiledRule {
  let templates = madeTexts.get(rule.templates)
  if (!templates) {
    templates = compileTexts(rule.templates)
    madeTexts.set(rule.templates, templates)
  }
  const decorators = rule.decorators.map((decorator) => ({ decorator, text: compileSystem(decorator.text) }))
  const own = rule.asked?.template
  const inline = own === undefined ? undefined : compileSystem(own)
  return { templates, decorators, paths: pathsOf(rule), inline }
}

function compileTexts(rules: PromptRule['templates']): CompiledRule['templates'] {
  const templates = new Map<string, CompiledText>()
  for (const [name, { role, position, texts }] of Object.entries(rules)) {
    for (const [version, text] of Object.entries(texts)) {
      templates.set(`${name}\n${version}`, { role, position, template: compileTemplate(text), digest: sha256(text) })
    }
  }
  return templates
}

function compileSystem(text: string): CompiledText {
  return { role: 'system', position: 'before', template: compileTemplate(text), digest: sha256(text) }
}
