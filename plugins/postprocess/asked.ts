import type { CustomRule, Rules, Threshold } from './rules.ts'

/** What a caller's directives add to the rules for one call. Everything of the operator's holds beside it. */
export interface Asked {
  /** A JSON Schema that the answer must fit too. */
  readonly schema?: object
  readonly required_phrases?: readonly string[]
  readonly forbidden_phrases?: readonly string[]
  /** Unicode code points. */
  readonly min_output_length?: number
  readonly safety?: Rules['safety']
  readonly custom_safety_rules?: readonly CustomRule[]
}

/** The most a caller may ask: items of a list, UTF-16 code units of a phrase and of a schema's text, code points of an answer. */
export const askedLimits = {
  required: 32,
  forbidden: 64,
  safety: 32,
  rules: 32,
  triggers: 32,
  hooks: 8,
  phrase: 512,
  schema: 65_536,
  length: 100_000,
} as const

/**
 * What stands for text that a caller's own rule redacts: one character, so that redacting makes no answer longer and none passes a length
 * that it would have failed.
 */
export const askedRedaction = '•'

const order: readonly Threshold[] = ['block_none', 'block_high', 'block_medium', 'block_low', 'block_all']

/** Whether the first threshold ends fewer answers than the second. */
export function isLooser(one: Threshold, other: Threshold): boolean {
  return order.indexOf(one) < order.indexOf(other)
}

/** The rules with what a caller asks: phrases are added, the longer length and the stricter threshold count. */
export function tightenedRules(rules: Rules, asked: Asked): Rules {
  const { required_phrases: required = [], min_output_length: length = 0, safety = [] } = asked
  return {
    ...rules,
    // Added at the end, so that it is known which are whose.
    required_phrases: [...rules.required_phrases, ...required],
    min_output_length: Math.max(rules.min_output_length, length),
    safety: stricter(rules.safety, safety),
    asked,
  }
}

function stricter(safety: Rules['safety'], asked: Rules['safety']): Rules['safety'] {
  const wanted = new Map(asked.map(({ category, threshold }) => [category, threshold]))
  const kept = safety.map((rule) => {
    const threshold = wanted.get(rule.category)
    return threshold && isLooser(rule.threshold, threshold) ? { ...rule, threshold } : rule
  })
  return [...kept, ...asked.filter(({ category }) => !safety.some((rule) => rule.category === category))]
}
