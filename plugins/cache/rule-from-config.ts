import { canonicalDigest } from '../canonical.ts'
import { type Fault, GatewayError } from '../errors.ts'
import { compilePath, type Path } from '../path.ts'
import type { CacheConfig, HashField } from './config.ts'
import { builtInHooks, type Hook, hookFromReplacements } from './hooks.ts'
import type { Rule, RuleField } from './rule.ts'

/** The part of the configuration that decides the key. */
export type KeyConfig = Pick<CacheConfig, 'input_hash_fields' | 'preprocess_hooks' | 'cache_strategy' | 'hooks'>

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
  const bodyHooks = fields ? [] : uses
  return { digest: ruleDigest(config), deterministic: config.cache_strategy === 'deterministic', fields, bodyHooks }
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

function samePath(a: Path, b: Path): boolean {
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

/** Fields, precisions and hooks with what they mean: an edited hook of the same name makes other keys. */
function ruleDigest({ input_hash_fields, preprocess_hooks, hooks }: KeyConfig): string {
  const used = preprocess_hooks.map((use) => [use.field, use.function, hooks[use.function] ?? null])
  const fields = input_hash_fields?.map((each) => (typeof each === 'string' ? { path: each } : each)) ?? null
  return canonicalDigest([fields, used])
}
