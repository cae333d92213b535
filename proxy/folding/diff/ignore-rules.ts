import { gatewayError } from '../../../plugins/errors.ts'
import { createSchema, type JsonSchema } from '../../../plugins/schema.ts'
import type { Difference, FieldClass } from './difference.ts'

/** A difference that somebody has looked at and answers for. It is counted apart, as ignored, and stops being so when it expires. */
export interface IgnoreRule {
  /** A layer, or `*`. */
  readonly layer: string
  /** Over normalised paths: `*` stands for anything but a dot, `**` for anything, also for a place that is not known. */
  readonly pathPattern: string
  readonly class: FieldClass
  readonly reason: string
  readonly owner: string
  /** An instant or a day (then its end, UTC) in ISO 8601. */
  readonly expires: string
}

const text: JsonSchema = { type: 'string', minLength: 1, maxLength: 256 }

/** The shape of an {@link IgnoreRule} in a configuration. */
export const ignoreRuleJson: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['layer', 'pathPattern', 'class', 'reason', 'owner', 'expires'],
  properties: {
    layer: text,
    pathPattern: text,
    class: { enum: ['H', 'S', 'N', 'P', 'T'] },
    reason: text,
    owner: text,
    expires: {
      type: 'string',
      pattern: '^\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}(:\\d{2}(\\.\\d+)?)?(Z|[+-]\\d{2}:\\d{2}))?$',
    },
  },
}

const schema = createSchema<IgnoreRule>(ignoreRuleJson)

/** The rules in force. Instants are milliseconds since the epoch. */
export interface Ignores {
  readonly rules: readonly IgnoreRule[]
  /** The rule that ignores a difference at an instant. What trips a fuse at the first one is never ignored. */
  match(layer: string, difference: Difference, at: number): IgnoreRule | undefined
  isActive(rule: IgnoreRule, at: number): boolean
  /** Rules that keep a layer from being promoted: those on class H that have not expired. */
  blocking(layer: string, at: number): readonly IgnoreRule[]
}

/** Makes {@link Ignores}. Throws `config_invalid` for a rule that is none, with its index. */
export function createIgnores(rules: readonly IgnoreRule[]): Ignores {
  const compiled = rules.map((rule, index) => compile(rule, index))
  const active = (each: Compiled, at: number): boolean => at < each.until
  return {
    rules,
    match(layer, { class: of, path, f1 }, at) {
      if (f1) return undefined
      return compiled.find(
        (each) =>
          active(each, at) && applies(each.rule, layer) && each.rule.class === of && each.pattern.test(path ?? '?'),
      )?.rule
    },
    isActive: (rule, at) => compiled.some((each) => each.rule === rule && active(each, at)),
    blocking: (layer, at) =>
      compiled
        .filter((each) => each.rule.class === 'H' && applies(each.rule, layer) && active(each, at))
        .map(({ rule }) => rule),
  }
}

interface Compiled {
  readonly rule: IgnoreRule
  readonly pattern: RegExp
  readonly until: number
}

function applies(rule: IgnoreRule, layer: string): boolean {
  return rule.layer === '*' || rule.layer === layer
}

function compile(rule: IgnoreRule, index: number): Compiled {
  const [fault] = schema.faults(rule)
  const field = `folding.shadow.ignore[${index}]`
  if (fault) throw gatewayError('config_invalid', `${fault.path || 'the rule'} ${fault.message}`, { field })
  const day = rule.expires.length === 10
  const until = Date.parse(day ? `${rule.expires}T00:00:00Z` : rule.expires) + (day ? 86_400_000 : 0)
  if (Number.isNaN(until)) throw gatewayError('config_invalid', `${rule.expires} is no date`, { field })
  return { rule, pattern: patternFrom(rule.pathPattern), until }
}

/** `*` within a member, `**` anywhere; `[*]` and `#` are themselves, since paths are normalised. */
function patternFrom(glob: string): RegExp {
  const parts = glob.split(/(\[\*\]|\*\*|\*)/)
  const source = parts.map((part) => (part === '**' ? '.*' : part === '*' ? '[^.]*' : escaped(part)))
  return new RegExp(`^${source.join('')}$`, 's')
}

function escaped(literal: string): string {
  return literal.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
