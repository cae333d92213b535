import type { Difference, F1Kind, FieldClass } from './difference.ts'
import type { Strata } from './strata.ts'

/**
 * Why a call that could have been compared was not. `not-drawn` is the only one that says nothing of coverage: the sample was never meant
 * to hold it. The others are holes in it.
 */
export const skipReasons = [
  'not-drawn',
  'not-acknowledged',
  'not-reached',
  'no-essence',
  'runner-unable',
  'too_large',
  'budget',
  'live-traffic',
  'timeout',
  'failed',
  'cache-hit',
  'uneven-load',
  'at-limit',
  'own-state',
  'rewritten',
] as const

/** A reason of the closed list above. */
export type SkipReason = (typeof skipReasons)[number]

/** The layer's place in the book for whole answers, compared end to end. */
export const answerLayer = 'answer'

interface Compared {
  readonly layer: string
  /** The gateway's id of the call: random, and never the caller's own. */
  readonly call: string
  /** Service tier of the caller; empty when none is known. */
  readonly tier: string
  readonly strata: Strata
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** Both sides said the same. */
export interface Equal extends Compared {
  readonly verdict: 'equal'
}

/** The sides differ; the hardest difference is first, and its signature and class are those of the comparison. */
export interface Differs extends Compared {
  readonly verdict: 'differs'
  readonly class: FieldClass
  readonly signature: string
  /** A fuse at the first one. */
  readonly f1?: F1Kind
  readonly differences: readonly Difference[]
}

/** The sides were not compared. */
export interface Skipped extends Compared {
  readonly verdict: 'skipped'
  readonly reason: SkipReason
}

/** What came of comparing the two sides on one call, for one layer. Holds no prompt, no answer and no credential. */
export type Comparison = Equal | Differs | Skipped

/** What was found, before it is known whose call it was. */
export type Finding =
  | { readonly verdict: 'equal' }
  | { readonly verdict: 'differs'; readonly differences: readonly Difference[] }
  | { readonly verdict: 'skipped'; readonly reason: SkipReason }

const hardness: Readonly<Record<FieldClass, number>> = { H: 0, S: 1, T: 2, N: 3, P: 4, I: 5 }

/** Differences as a finding, hardest first; none are equality. Those of class I do not count. */
export function findingFrom(differences: readonly Difference[]): Finding {
  const counted = differences.filter((each) => each.class !== 'I')
  if (counted.length === 0) return { verdict: 'equal' }
  return { verdict: 'differs', differences: counted.toSorted((a, b) => rank(a) - rank(b)) }
}

function rank({ class: of, f1 }: Difference): number {
  return f1 ? -1 : hardness[of]
}

/** A finding as the comparison of a call. */
export function comparisonFrom(finding: Finding, whose: Compared): Comparison {
  const { layer, call, tier, strata, at } = whose
  const compared = { layer, call, tier, strata, at }
  if (finding.verdict !== 'differs') return { ...compared, ...finding }
  const [first] = finding.differences
  if (!first) return { ...compared, verdict: 'equal' }
  const f1 = first.f1 ? { f1: first.f1 } : {}
  return { ...compared, ...finding, class: first.class, signature: first.signature, ...f1 }
}
