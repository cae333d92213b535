import type { Fault } from '../errors.ts'
import type { Host } from '../host.ts'
import type { PromptConfig, TemplateConfig, TemplateText } from './config.ts'
import type { PromptRule, TemplateRule } from './rule.ts'
import { type Check, checker, invalidRule, ruleFaults } from './rule-faults.ts'
import { compileTemplate } from './template.ts'

/** The doors that reading the settings needs. Without `runners` the runner of summaries is not looked for. */
export type RuleHost = Pick<Host, 'file' | 'declared'> & Partial<Pick<Host, 'runners'>>

/** The settings as plain data with every template's text in it. Throws `config_invalid` with every fault found. */
export function ruleFromConfig(config: PromptConfig, host: RuleHost): PromptRule {
  const faults: Fault[] = []
  const check = checker(faults)
  const templates: Record<string, TemplateRule> = {}
  for (const [name, template] of Object.entries(config.templates)) {
    templates[name] = templateRule(template, { path: `templates.${name}`, check, host, faults })
  }
  const rule: PromptRule = { ...config, templates, declared: [...host.declared].sort() }
  faults.push(...ruleFaults(rule), ...runnerFaults(config, host))
  if (faults.length > 0) throw invalidRule(faults)
  return rule
}

function runnerFaults({ context: { summary } }: PromptConfig, { runners }: RuleHost): Fault[] {
  if (!summary || !runners || runners.names.includes(summary.runner)) return []
  return [{ path: 'context.summary.runner', message: `runner "${summary.runner}" is not configured` }]
}

interface Reading {
  readonly path: string
  readonly check: Check
  readonly host: RuleHost
  readonly faults: Fault[]
}

function templateRule(template: TemplateConfig, reading: Reading): TemplateRule {
  const { version, versions, role, position, text, file } = template
  const texts: Record<string, string> = {}
  const current = textOf({ ...(text !== undefined && { text }), ...(file !== undefined && { file }) }, reading)
  if (current !== undefined) texts[version] = current
  for (const [name, each] of Object.entries(versions)) {
    const path = `${reading.path}.versions.${name}`
    if (name === version) reading.faults.push({ path, message: `is the current version; it stands in text or file` })
    const read = textOf(each, { ...reading, path })
    if (read !== undefined && name !== version) texts[name] = read
  }
  return { version, role, position, texts }
}

function textOf({ text, file }: TemplateText, { path, check, host, faults }: Reading): string | undefined {
  if ((text === undefined) === (file === undefined)) {
    faults.push({ path, message: 'needs one of text and file' })
    return undefined
  }
  // An editor's final line break is no part of the prompt.
  const read = check(
    `${path}.file`,
    () =>
      text ??
      host
        .file(file ?? '')
        .toString('utf8')
        .replace(/\r?\n$/, ''),
  )
  if (read !== undefined) check(`${path}.${text === undefined ? 'file' : 'text'}`, () => compileTemplate(read))
  return read
}
