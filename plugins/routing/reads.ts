import { type LayerReads, maxReadsBytes } from '../execution-context-facts.ts'
import type { Candidate, RoutingQuestion } from './rule.ts'

/** What a decision rests on beside the call and the rule. */
export interface Standing extends Pick<RoutingQuestion, 'inputTokens' | 'budgetTokens' | 'owed' | 'fleet' | 'runners'> {
  /** The target that has this conversation, by its place in the configuration. */
  readonly home: number | undefined
}

/** The context's `reads` name the layer around these. */
const maxBytes = maxReadsBytes - '{"routing":}'.length
const maxItems = 32

/**
 * What a decision rested on, for an observer on the other side. Lists go by candidate; `busy` is the tokens under way, -1 where the runner
 * is not available. Undefined where there is nothing to choose from, or too much to send.
 */
export function readsFromQuestion(question: RoutingQuestion): LayerReads | undefined {
  const { candidates, inputTokens, budgetTokens, owed, fleet, runners, sticky } = question
  if (candidates.length === 0 || candidates.length > maxItems) return undefined
  const listed = (list: ArrayLike<number>): number[] => candidates.map(({ index }) => list[index] ?? 0)
  const busy = candidates.map(({ index }) => (runners[index]?.available ? runners[index].outstandingTokens : -1))
  const reads = {
    input: inputTokens,
    budget: budgetTokens,
    owed: listed(owed),
    fleet: listed(fleet),
    busy,
    ...(sticky.index === undefined ? {} : { home: sticky.index }),
  }
  return JSON.stringify(reads).length <= maxBytes ? reads : undefined
}

/** What the other side's decision rested on; undefined when it does not fit these candidates. */
export function standingFromReads(reads: LayerReads, candidates: readonly Candidate[]): Standing | undefined {
  const [owed, fleet, busy] = ['owed', 'fleet', 'busy'].map((name) => numbers(reads[name], candidates))
  const { input, budget, home } = reads
  if (!owed || !fleet || !busy || typeof input !== 'number' || typeof budget !== 'number') return undefined
  const runners = busy.map((tokens) => ({
    available: tokens >= 0,
    retryAfterMs: 0,
    outstandingTokens: Math.max(0, tokens),
  }))
  const at = typeof home === 'number' ? home : undefined
  return { inputTokens: input, budgetTokens: budget, owed, fleet, runners, home: at }
}

/** A list that goes by candidate, by place in the configuration. */
function numbers(value: LayerReads[string] | undefined, candidates: readonly Candidate[]): number[] | undefined {
  if (!Array.isArray(value) || value.length !== candidates.length) return undefined
  if (!value.every((each) => typeof each === 'number')) return undefined
  const places: number[] = new Array(1 + Math.max(-1, ...candidates.map(({ index }) => index))).fill(0)
  for (const [at, { index }] of candidates.entries()) places[index] = value[at] as number
  return places
}
