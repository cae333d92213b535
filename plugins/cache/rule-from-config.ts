import { canonicalDigest } from '../canonical.ts'
import { type Fault, GatewayError } from '../errors.ts'
import { compilePath, type Path } from '../path.ts'
import type { CacheConfig, HashField } from './config.ts'
import { builtInHooks, type Hook, hookFromReplacements } from './hooks.ts'
import { besideTheQuestion, type Rule, type RuleField } from './rule.ts'
import type { CacheStep } from './step.ts'

/** The part of the configuration, or of the step, that decides the key. */
export type KeyConfig = Pick<CacheConfig, 'input_hash_fields' | 'preprocess_hooks' | 'cache_strategy' | 'hooks'> &
  Partial<Pick<CacheStep, 'headerPrefix' | 'added'>>

/**
 * Compiles what decides the key. What is wrong is added to `faults`, with paths relative to the section, and left out of the rule.
 * `declared` are the names that paths resolve in facts only.
 */
export function ruleFromConfig(config: KeyConfig, declared: ReadonlySet<string>, faults: Fault[]): Rule {
  const hooks = hooksFromConfig(config.hooks, faults)
  const uses = config.preprocess_hooks.flatMap((use, index): HookUse[] => {
    const at = `preprocess_hooks[${index}]`
    const path = pathAt(use.field, declared, { path: `${at}.field`, faults })
    const hook = hooks.get(use.function)
    if (!hook) faults.push({ path: `${at}.function`, message: `no such hook; known: ${[...hooks.keys()].join(', ')}` })
    return path && hook ? [{ at, path, hook }] : []
  })
  const fields = config.input_hash_fields && fieldsFrom(config.input_hash_fields, declared, { uses, faults })
  for (const use of uses) {
    const fault = misplaced(use, fields)
    if (fault) faults.push({ path: `${use.at}.field`, message: fault })
  }
  const beside = new Set(besideTheQuestion)
  if (config.headerPrefix !== undefined) beside.add(`${config.headerPrefix}execution-context`)
  const asked = fieldsFrom(config.added?.input_hash_fields ?? [], declared, { uses: [], faults })
  const covered = (field: RuleField): boolean =>
    fields ? standsIn(fields, field) : uses.length === 0 && isInBody(field, beside)
  const added = asked.filter((field) => !covered(field))
  return {
    digest: ruleDigest(config, added),
    deterministic: config.cache_strategy === 'deterministic',
    fields,
    bodyHooks: fields ? [] : uses,
    added,
    beside,
  }
}

/** The operator's fields hold it already, and exactly. */
function standsIn(fields: readonly RuleField[], { path }: RuleField): boolean {
  return fields.some((each) => each.precision === undefined && each.hooks.length === 0 && samePath(each.path, path))
}

/** The whole body holds it already. */
function isInBody({ path }: RuleField, beside: ReadonlySet<string>): boolean {
  return path.source === 'body' && !beside.has(String(path.steps[0]))
}

interface HookUse {
  readonly at: string
  readonly path: Path
  readonly hook: Hook
}

function fieldsFrom(
  listed: readonly HashField[],
  declared: ReadonlySet<string>,
  { uses, faults }: { readonly uses: readonly HookUse[]; readonly faults: Fault[] },
): RuleField[] {
  return listed.flatMap((each, index): RuleField[] => {
    const { path: text, precision = undefined } = typeof each === 'string' ? { path: each } : each
    const path = pathAt(text, declared, { path: `input_hash_fields[${index}]`, faults })
    if (!path) return []
    return [{ path, precision, hooks: uses.filter((use) => samePath(use.path, path)).map((use) => use.hook) }]
  })
}

function misplaced({ path }: HookUse, fields: readonly RuleField[] | null): string | undefined {
  if (fields) return fields.some((field) => samePath(field.path, path)) ? undefined : 'is not one of input_hash_fields'
  return path.source === 'facts' ? 'names a fact, but the key is the body' : undefined
}

/** Whether two paths lead to the same place. */
export function samePath(a: Path, b: Path): boolean {
  return a.source === b.source && JSON.stringify(a.steps) === JSON.stringify(b.steps)
}

function pathAt(
  text: string,
  declared: ReadonlySet<string>,
  { path, faults }: { readonly path: string; readonly faults: Fault[] },
): Path | undefined {
  try {
    return compilePath(text, declared)
  } catch (reason) {
    if (!(reason instanceof GatewayError)) throw reason
    faults.push({ path, message: reason.message })
    return undefined
  }
}

function hooksFromConfig(own: CacheConfig['hooks'], faults: Fault[]): Map<string, Hook> {
  const hooks = new Map<string, Hook>(Object.entries(builtInHooks))
  for (const [name, rules] of Object.entries(own)) {
    if (Object.hasOwn(builtInHooks, name))
      faults.push({ path: `hooks.${name}`, message: 'is the name of a built-in hook' })
    for (const [index, rule] of rules.entries()) {
      const fault = patternFault(rule.pattern)
      if (fault) faults.push({ path: `hooks.${name}[${index}].pattern`, message: fault })
      else if (index === rules.length - 1 && rules.every((each) => !patternFault(each.pattern)))
        hooks.set(name, hookFromReplacements(rules))
    }
  }
  return hooks
}

function patternFault(pattern: string): string | undefined {
  try {
    hookFromReplacements([{ pattern, replacement: '' }])
    return undefined
  } catch (reason) {
    return reason instanceof Error ? reason.message : 'is not a pattern'
  }
}

/**
 * Fields, precisions and hooks with what they mean: an edited hook of the same name makes other keys. What directives ask of an answer is
 * in it too: who asks for a better one must not be given one that was held to less.
 */
function ruleDigest(config: KeyConfig, added: readonly RuleField[]): string {
  const { input_hash_fields, preprocess_hooks, hooks, added: asked = {} } = config
  const used = preprocess_hooks.map((use) => [use.field, use.function, hooks[use.function] ?? null])
  const fields = input_hash_fields?.map((each) => (typeof each === 'string' ? { path: each } : each)) ?? null
  const more = [
    added.map(({ path, precision }) => [path.text, precision ?? null]),
    asked.json_schema ?? null,
    asked.min ?? null,
  ]
  const nothing = added.length === 0 && !asked.json_schema && asked.min === undefined
  return canonicalDigest(nothing ? [fields, used] : [fields, used, more])
}
