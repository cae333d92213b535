import type { Fault } from '../errors.ts'
import { type CompiledRules, comparable } from './compile.ts'

/** What of these rules no answer can satisfy, or nothing can decide. Each fault names the two members that clash. */
export function conflictsIn(compiled: CompiledRules): Fault[] {
  const faults: Fault[] = []
  const say: Say = (path, message) => faults.push({ path, message })
  phraseConflicts(compiled, say)
  suffixConflicts(compiled, say)
  judgeConflicts(compiled, say)
  return faults
}

type Say = (path: string, message: string) => unknown

function phraseConflicts({ rules, suffix }: CompiledRules, say: Say): void {
  if (rules.forbiddenAction === 'annotate') return
  const forbidden = rules.forbidden_phrases.map((phrase) => comparable(rules, phrase))
  const holds = (text: string): number => forbidden.findIndex((phrase) => phrase !== '' && text.includes(phrase))
  for (const [i, phrase] of rules.required_phrases.entries()) {
    const at = holds(comparable(rules, phrase))
    if (at >= 0) say(`required_phrases[${i}]`, `UNSATISFIABLE: it holds forbidden_phrases[${at}]`)
  }
  const at = suffix ? holds(comparable(rules, suffix.text)) : -1
  if (at >= 0) say('suffix', `UNSATISFIABLE: it holds forbidden_phrases[${at}]`)
}

function suffixConflicts({ rules, suffix }: CompiledRules, say: Say): void {
  if (!suffix || rules.json.schema === null) return
  if (suffix.field === null)
    say('suffix', 'UNSATISFIABLE: a JSON answer by json.schema has no place for it; name a field')
  else if (!hasPlace(rules.json.schema, suffix.field)) {
    say('suffix.field', 'UNSATISFIABLE: json.schema has no such property and allows no others')
  }
}

/** Whether objects of a schema may have this member, as far as its top level tells. */
export function hasPlace(schema: unknown, field: string): boolean {
  if (schema === null || typeof schema !== 'object') return schema !== false
  const { type, properties, additionalProperties } = schema as Record<string, unknown>
  if (type !== undefined && type !== 'object' && !(Array.isArray(type) && type.includes('object'))) return false
  if (properties && typeof properties === 'object' && Object.hasOwn(properties, field)) return true
  return additionalProperties !== false
}

function judgeConflicts({ rules }: CompiledRules, say: Say): void {
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
}

function isUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}
