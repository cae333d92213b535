import { type Fault, GatewayError, gatewayError } from '../errors.ts'
import { compilePath } from '../path.ts'
import { isClock } from './clock.ts'
import type { PromptRule } from './rule.ts'
import { compileTemplate } from './template.ts'

/** Tries something; what it throws as `GatewayError` becomes a fault at a path, and the result is undefined. */
export type Check = <T>(path: string, attempt: () => T) => T | undefined

/** Makes a {@link Check} that collects into a list. */
export function checker(faults: Fault[]): Check {
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

/** What is wrong with a rule beside the texts of its templates. Paths are the same in the settings and in the step. */
export function ruleFaults(rule: PromptRule): Fault[] {
  const faults: Fault[] = []
  const check = checker(faults)
  const declared = new Set(rule.declared)
  for (const [index, { text }] of rule.decorators.entries()) {
    check(`decorators[${index}].text`, () => compileTemplate(text))
  }
  for (const [name, path] of Object.entries(rule.paths)) check(`paths.${name}`, () => compilePath(path, declared))
  const { strategy, summary } = rule.context
  const unsaid = strategy === 'summarise' && !summary
  return [
    ...faults,
    ...referenceFaults(rule),
    ...nameFaults(rule),
    ...(unsaid ? [{ path: 'context.summary', message: 'is required by strategy summarise' }] : []),
  ]
}

/** What is wrong with a step: its rule and the texts in it. */
export function stepFaults(rule: PromptRule): Fault[] {
  const faults: Fault[] = []
  const check = checker(faults)
  for (const [name, { texts, version }] of Object.entries(rule.templates)) {
    const path = `templates.${name}`
    if (!Object.hasOwn(texts, version)) faults.push({ path: `${path}.version`, message: 'has no text' })
    for (const [each, text] of Object.entries(texts)) check(`${path}.texts.${each}`, () => compileTemplate(text))
  }
  const own = rule.asked?.template
  if (own !== undefined) check('asked.template', () => compileTemplate(own))
  return [...faults, ...ruleFaults(rule)]
}

/** Every fault of a rule as one `config_invalid`. */
export function invalidRule(faults: readonly Fault[]): GatewayError {
  const [first] = faults
  const { path = '', message = 'is not valid' } = first ?? {}
  return gatewayError('config_invalid', `${path}: ${message}`, { faults, field: path })
}

function referenceFaults({ templates, ...rule }: PromptRule): Fault[] {
  const faults: Fault[] = []
  const known = Object.keys(templates).join(', ') || 'none'
  if (rule.default !== null && !Object.hasOwn(templates, rule.default)) {
    faults.push({ path: 'default', message: `template "${rule.default}" is not configured; known: ${known}` })
  }
  for (const [index, { template, version }] of rule.use.entries()) {
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

function nameFaults({ variables, paths }: PromptRule): Fault[] {
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
