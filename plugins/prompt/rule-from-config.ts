import { type Fault, GatewayError, gatewayError } from '../errors.ts'
import type { Host } from '../host.ts'
import { compilePath } from '../path.ts'
import { isClock } from './clock.ts'
import type { PromptConfig, TemplateConfig, TemplateText } from './config.ts'
import type { PromptRule, TemplateRule } from './rule.ts'
import { compileTemplate } from './template.ts'

/** The doors that reading the settings needs. */
export type RuleHost = Pick<Host, 'file' | 'declared' | 'runners'>

/** The settings as plain data with every template's text in it. Throws `config_invalid` with every fault found. */
export function ruleFromConfig(config: PromptConfig, host: RuleHost): PromptRule {
  const faults: Fault[] = []
  const check = checker(faults)
  const templates: Record<string, TemplateRule> = {}
  for (const [name, template] of Object.entries(config.templates)) {
    templates[name] = templateRule(template, { path: `templates.${name}`, check, host, faults })
  }
  for (const [index, { text }] of config.decorators.entries()) {
    check(`decorators[${index}].text`, () => compileTemplate(text))
  }
  for (const [name, path] of Object.entries(config.paths))
    check(`paths.${name}`, () => compilePath(path, host.declared))
  faults.push(...referenceFaults(config, templates), ...nameFaults(config), ...summaryFaults(config, host))
  const [first] = faults
  if (first) throw gatewayError('config_invalid', `${first.path}: ${first.message}`, { faults, field: first.path })
  return { ...config, templates, declared: [...host.declared] }
}

type Check = <T>(path: string, attempt: () => T) => T | undefined

function checker(faults: Fault[]): Check {
  return (path, attempt) => {
    try {
      return attempt()
    } catch (reason) {
      if (!(reason instanceof GatewayError)) throw reason
      faults.push({ path, message: reason.message })
      return undefined
    }
  }
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

function referenceFaults(config: PromptConfig, templates: Readonly<Record<string, TemplateRule>>): Fault[] {
  const faults: Fault[] = []
  const known = Object.keys(templates).join(', ') || 'none'
  if (config.default !== null && !Object.hasOwn(templates, config.default)) {
    faults.push({ path: 'default', message: `template "${config.default}" is not configured; known: ${known}` })
  }
  for (const [index, { template, version }] of config.use.entries()) {
    const found = Object.hasOwn(templates, template) ? templates[template] : undefined
    if (!found) {
      faults.push({
        path: `use[${index}].template`,
        message: `template "${template}" is not configured; known: ${known}`,
      })
    } else if (version !== undefined && !Object.hasOwn(found.texts, version)) {
      const versions = Object.keys(found.texts).join(', ')
      faults.push({
        path: `use[${index}].version`,
        message: `template "${template}" has no version "${version}"; known: ${versions}`,
      })
    }
  }
  return faults
}

function nameFaults({ variables, paths }: PromptConfig): Fault[] {
  const faults: Fault[] = []
  for (const [section, names] of [
    ['variables', variables],
    ['paths', paths],
  ] as const) {
    for (const name of Object.keys(names)) {
      const path = `${section}.${name}`
      if (isClock(name)) faults.push({ path, message: 'is the name of a clock' })
      else if (!/^[A-Za-z_][\w-]*$/.test(name)) faults.push({ path, message: 'a variable is letters, digits, _ and -' })
    }
  }
  return faults
}

function summaryFaults({ context }: PromptConfig, { runners }: RuleHost): Fault[] {
  const { strategy, summary } = context
  if (strategy === 'summarise' && !summary)
    return [{ path: 'context.summary', message: 'is required by strategy summarise' }]
  if (!summary || runners.names.includes(summary.runner)) return []
  return [{ path: 'context.summary.runner', message: `runner "${summary.runner}" is not configured` }]
}
