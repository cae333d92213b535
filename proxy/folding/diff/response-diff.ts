import type { Answer } from './answer.ts'
import { type AnswerContext, inconsistenciesOf } from './answer-rules.ts'
import { answerLayer, type Finding, findingFrom } from './comparison.ts'
import { type Difference, type DifferenceParts, differenceIn, normalisedPath } from './difference.ts'
import { differenceOfField, diffField } from './field-diff.ts'
import { diffHeaders, type HeaderSlack } from './header-diff.ts'
import { jsonDifferences } from './json-difference.ts'

/** How two answers are held against each other. */
export interface ResponseDiffOptions extends HeaderSlack, AnswerContext {
  /** Headers are compared. Default true. */
  readonly headers?: boolean
}

/**
 * Everything in which a new answer differs from the old one, by field class: status, headers, every member of the body, structure and first
 * divergence of texts, and rules that the new answer breaks and the old one keeps. Equal answers have no differences. A field that nobody
 * has placed is held exactly.
 */
export function diffAnswers(old: Answer, now: Answer, options: ResponseDiffOptions = {}): readonly Difference[] {
  const found: DifferenceParts[] = [
    ...statusDifferences(old, now),
    ...bodyDifferences(old.body, now.body),
    ...brokenRules(old.body, now.body, options),
  ]
  const headers = options.headers === false ? [] : diffHeaders(old.headers, now.headers, options)
  return [...headers, ...found.map((parts) => differenceIn(options.layer ?? answerLayer, parts))]
}

/** The differences as a {@link Finding}, for the book. */
export function findingFromAnswers(old: Answer, now: Answer, options: ResponseDiffOptions = {}): Finding {
  return findingFrom(diffAnswers(old, now, options))
}

function statusDifferences(old: Answer, now: Answer): DifferenceParts[] {
  if (old.status === now.status) return []
  const codes = [String(old.status), String(now.status)] as const
  return [{ class: 'H', kind: 'value', path: 'status', kinds: ['number', 'number'], codes }]
}

function bodyDifferences(old: unknown, now: unknown): DifferenceParts[] {
  const found: DifferenceParts[] = []
  const whole = (at: string, one: unknown, two: unknown): boolean => {
    const parts = diffField({ path: normalisedPath(at), old: one, now: two })
    if (parts) found.push(...parts)
    return parts !== undefined
  }
  const rest = jsonDifferences(old, now, { whole })
  return [...found, ...rest.map((each) => differenceOfField({ ...each, path: normalisedPath(each.path) }))]
}

/** Rules that only the new answer breaks. */
function brokenRules(old: unknown, now: unknown, context: AnswerContext): DifferenceParts[] {
  const before = new Set(inconsistenciesOf(old, context).map(({ path, rule }) => `${rule} ${path}`))
  return inconsistenciesOf(now, context)
    .filter(({ path, rule }) => !before.has(`${rule} ${path}`))
    .map(({ path, rule }) => ({ class: 'H', kind: 'inconsistent', path: `body.${path}`, kinds: ['', rule] }))
}
