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
}

const made = new WeakMap<PromptRule, CompiledRule>()

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
  const templates = new Map<string, CompiledText>()
  for (const [name, { role, position, texts }] of Object.entries(rule.templates)) {
    for (const [version, text] of Object.entries(texts)) {
      templates.set(`${name}\n${version}`, { role, position, template: compileTemplate(text), digest: sha256(text) })
    }
  }
  const decorators = rule.decorators.map((decorator) => {
    const { text } = decorator
    const compiled = {
      role: 'system',
      position: 'before',
      template: compileTemplate(text),
      digest: sha256(text),
    } as const
    return { decorator, text: compiled }
  })
  return { templates, decorators, paths: pathsOf(rule) }
}
