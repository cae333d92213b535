import type { Fault } from '../errors.ts'
import { askedPaths, type CompiledRules, comparable } from './compile.ts'
import type { Rules } from './rules.ts'

/** Two members that no answer can satisfy together. */
export interface Clash {
  readonly paths: readonly [string, string]
  /** What is the matter with the first. */
  readonly message: string
}

/** What of these rules no answer can satisfy, or nothing can decide. Each fault names the two members that clash. */
export function conflictsIn(compiled: CompiledRules): Fault[] {
  const clashes = clashesIn(compiled).map(({ paths: [path], message }) => ({
    path,
    message: `UNSATISFIABLE: ${message}`,
  }))
  return [...clashes, ...judgeFaults(compiled.rules)]
}

/** What of these rules no answer can satisfy. */
export function clashesIn(compiled: CompiledRules): Clash[] {
  return [...phraseClashes(compiled), ...suffixClashes(compiled)]
}

interface Placed {
  readonly path: string
  readonly phrase: string
}

function forbiddenIn(rules: Rules): Placed[] {
  const own = rules.forbiddenAction === 'annotate' ? [] : rules.forbidden_phrases
  const asked = rules.asked?.forbidden_phrases ?? []
  const placed = (list: readonly string[], path: string): Placed[] =>
    list.map((phrase, i) => ({ path: `${path}[${i}]`, phrase: comparable(rules, phrase) }))
  return [...placed(own, 'forbidden_phrases'), ...placed(asked, askedPaths.forbidden)].filter(
    ({ phrase }) => phrase !== '',
  )
}

function phraseClashes({ rules, suffix }: CompiledRules): Clash[] {
  const forbidden = forbiddenIn(rules)
  const clash = (path: string, text: string): Clash[] => {
    const held = forbidden.find(({ phrase }) => text.includes(phrase))
    return held ? [{ paths: [path, held.path], message: `it holds ${held.path}` }] : []
  }
  const own = rules.required_phrases.length - (rules.asked?.required_phrases?.length ?? 0)
  const required = rules.required_phrases.flatMap((phrase, i) =>
    clash(i < own ? `required_phrases[${i}]` : `${askedPaths.required}[${i - own}]`, comparable(rules, phrase)),
  )
  return suffix ? [...required, ...clash('suffix', comparable(rules, suffix.text))] : required
}

function suffixClashes({ rules, suffix }: CompiledRules): Clash[] {
  if (!suffix) return []
  const schemas: [string, unknown][] = [
    ['json.schema', rules.json.schema ?? undefined],
    [askedPaths.schema, rules.asked?.schema],
  ]
  return schemas.flatMap(([at, schema]): Clash[] => {
    if (schema === undefined) return []
    if (suffix.field === null) {
      return [{ paths: ['suffix', at], message: `a JSON answer by ${at} has no place for it; name a field` }]
    }
    if (hasPlace(schema, suffix.field)) return []
    return [{ paths: ['suffix.field', at], message: `${at} has no such property and allows no others` }]
  })
}

/** Whether objects of a schema may have this member, as far as its top level tells. */
export function hasPlace(schema: unknown, field: string): boolean {
  if (schema === null || typeof schema !== 'object') return schema !== false
  const { type, properties, additionalProperties } = schema as Record<string, unknown>
  if (type !== undefined && type !== 'object' && !(Array.isArray(type) && type.includes('object'))) return false
  if (properties && typeof properties === 'object' && Object.hasOwn(properties, field)) return true
  return additionalProperties !== false
}

function judgeFaults(rules: Rules): Fault[] {
  const faults: Fault[] = []
  const say = (path: string, message: string): unknown => faults.push({ path, message })
  for (const [i, { category, threshold }] of rules.safety.entries()) {
    const judged = rules.moderation !== null || Object.hasOwn(rules.safetyTerms, category)
    if (!judged && threshold !== 'block_none') {
      say(`safety[${i}].category`, 'nothing decides it: there are no safetyTerms for it, and no moderation')
    }
  }
  const { moderation, quality_score: quality, review } = rules
  if (moderation?.kind === 'endpoint' && !isUrl(moderation.url)) say('moderation.url', 'must be an http or https URL')
  if (moderation?.kind === 'guard-model' && !moderation.runner)
    say('moderation.runner', 'is required for a guard model')
  if (quality?.scorer === 'endpoint' && !isUrl(quality.url)) say('quality_score.url', 'must be an http or https URL')
  if (quality?.scorer === 'judge' && !quality.runner) say('quality_score.runner', 'is required for a judge')
  if (review && !quality) say('review', 'has nothing to go by: quality_score is absent')
  if (review && review.webhook === null && review.stream === null) say('review', 'needs a webhook or a stream')
  if (review?.webhook && !isUrl(review.webhook)) say('review.webhook', 'must be an http or https URL')
  return faults
}

function isUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}
