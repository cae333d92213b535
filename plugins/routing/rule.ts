import type { Facts } from '../call.ts'
import type { ErrorCode, ErrorDetail } from '../errors.ts'
import type { TargetRule } from './config.ts'

/** What of the settings decides a call: the same data in the gateway and at the runner. */
export interface RoutingRule {
  readonly targets: readonly TargetRule[]
  readonly default: string | null
}

/** A target that serves the asked name for the caller's tier, with its share among those. */
export interface Candidate {
  /** Its place in the configuration. */
  readonly index: number
  readonly target: TargetRule
  readonly weight: number
  /** Weight over the sum of all candidates' weights. */
  readonly share: number
}

/** What is known when a call must be placed. Lists are by the target's place in the configuration. */
export interface RoutingQuestion {
  readonly candidates: readonly Candidate[]
  readonly model: string
  /** Prompt tokens. */
  readonly inputTokens: number
  /** Prompt tokens and the output to expect. */
  readonly budgetTokens: number
  /** Tokens each target is below (positive) or above its share of this tenant. */
  readonly owed: ArrayLike<number>
  /** The same over all tenants: it only settles who begins. */
  readonly fleet: ArrayLike<number>
  readonly runners: readonly RunnerNow[]
  /** An answer of lower quality is repeated: size decides, not share. */
  readonly largest: boolean
  /** The target that has this conversation's prefix, if any, and how far it may exceed its share for it. */
  readonly sticky: { readonly index: number | undefined; readonly overdraftTokens: number }
}

/** A runner at this moment. */
export interface RunnerNow {
  readonly available: boolean
  /** Milliseconds until it may be tried again. */
  readonly retryAfterMs: number
  readonly outstandingTokens: number
}

/** Where a call goes, best first, by place in the configuration; or why nowhere. */
export type Placement =
  | { readonly kind: 'order'; readonly order: readonly Candidate[]; readonly chosen: boolean }
  | { readonly kind: 'refuse'; readonly code: ErrorCode; readonly message: string; readonly detail: ErrorDetail }

/** The targets that serve a model name for a tier; empty when none does. Weight 0 is never among them. */
export function candidatesFor(rule: RoutingRule, model: string, tier: string): readonly Candidate[] {
  const found: { index: number; target: TargetRule; weight: number }[] = []
  let sum = 0
  for (const [index, target] of rule.targets.entries()) {
    if (model !== rule.default && model !== target.model && !target.aliases.includes(model)) continue
    const weight = weightFor(target, tier)
    if (weight > 0) found.push({ index, target, weight })
    sum += weight
  }
  return found.map((each) => ({ ...each, share: each.weight / sum }))
}

/** A target's weight for a tier, or the one that was asked for; 0 where the tier may not use it. */
export function weightFor(target: TargetRule, tier: string): number {
  if (target.tiers && !target.tiers.includes(tier)) return 0
  const own = Object.hasOwn(target.tier_weights, tier) ? (target.tier_weights[tier] ?? 0) : target.weight
  return own > 0 ? (target.asked ?? own) : 0
}

/**
 * Places a call: among the targets that take its length and are up, the one furthest below its share of the tokens, or the one that
 * holds the conversation if its share allows. A target that is down or too short lends its share to the others.
 */
export function place(question: RoutingQuestion): Placement {
  const { candidates, model, inputTokens, runners } = question
  if (candidates.length === 0)
    return refusal('model_not_found', `model "${model}" is not configured`, { field: 'model' })
  const fitting = candidates.filter(({ target }) => takesLength(target, inputTokens))
  if (fitting.length === 0) return noLength(question)
  const up = fitting.filter(({ index }) => runners[index]?.available)
  if (up.length === 0) {
    const retryAfterMs = Math.min(...fitting.map(({ index }) => runners[index]?.retryAfterMs ?? 0))
    return refusal('runner_unreachable', `no runner for model "${model}" is available`, { retryAfterMs })
  }
  return among(up, question)
}

function among(up: readonly Candidate[], question: RoutingQuestion): Placement {
  const { budgetTokens, owed } = question
  const weights = up.reduce((sum, each) => sum + each.weight, 0)
  const whole = byScore(
    up.filter((each) => budgetTokens >= each.target.min_tokens),
    question,
  )
  if (whole.length === 0) {
    const least = Math.min(...up.map((each) => each.target.min_tokens))
    const message = `a call of about ${budgetTokens} tokens is too small: model "${question.model}" takes ${least} or more`
    return refusal('invalid_request', message, { field: 'max_tokens' })
  }
  if (question.largest) {
    const order = whole.toSorted((a, b) => b.target.size - a.target.size || b.weight - a.weight)
    return { kind: 'order', order, chosen: false }
  }
  const due = whole.filter(({ index, weight, target }) => {
    const share = (weight / weights) * budgetTokens + Math.max(0, owed[index] ?? 0)
    return share >= target.min_tokens
  })
  const choice = due.length > 0 ? due : whole
  const first = sticky(choice, question) ?? leastBusy(choice, question)
  // Who could not be first for its small share can still stand in when the first fails: the share is lent to it then.
  const order = [first, ...choice, ...whole].filter((each, at, all) => all.indexOf(each) === at)
  return { kind: 'order', order, chosen: choice.length > 1 }
}

function byScore(list: readonly Candidate[], question: RoutingQuestion): Candidate[] {
  return list.toSorted((a, b) => score(b, question) - score(a, question) || a.index - b.index)
}

/** Tokens below its share once this call is counted. The fleet's counter only says who begins: it is worth one call between two targets. */
function score({ index, share }: Candidate, { owed, fleet, budgetTokens }: RoutingQuestion): number {
  const half = budgetTokens / 2
  const start = Math.min(half, Math.max(-half, fleet[index] ?? 0))
  return (owed[index] ?? 0) + start + share * budgetTokens
}

function sticky(choice: readonly Candidate[], question: RoutingQuestion): Candidate | undefined {
  const { index, overdraftTokens } = question.sticky
  const held = index === undefined ? undefined : choice.find((each) => each.index === index)
  if (!held) return undefined
  const after = (question.owed[held.index] ?? 0) - (1 - held.share) * question.budgetTokens
  return choice.length === 1 || after >= -overdraftTokens ? held : undefined
}

/** Among targets of the same weight that are within one call of the best: the one with the fewest tokens under way. */
function leastBusy(choice: readonly Candidate[], question: RoutingQuestion): Candidate {
  const best = choice[0] as Candidate
  const bar = score(best, question) - question.budgetTokens
  const busy = ({ index }: Candidate): number => question.runners[index]?.outstandingTokens ?? 0
  const equals = choice.filter((each) => each.weight === best.weight && score(each, question) >= bar)
  return equals.reduce((least, each) => (busy(each) < busy(least) ? each : least), best)
}

function takesLength(target: TargetRule, inputTokens: number): boolean {
  return inputTokens >= target.min_input_length && (target.max_input_length ?? Infinity) >= inputTokens
}

function noLength({ candidates, model, inputTokens }: RoutingQuestion): Placement {
  const longest = Math.max(...candidates.map(({ target }) => target.max_input_length ?? Infinity))
  const field = 'messages'
  if (inputTokens <= longest) {
    return refusal('invalid_request', `no target of model "${model}" takes a prompt of about ${inputTokens} tokens`, {
      field,
    })
  }
  const message = `the prompt is about ${inputTokens} tokens long; model "${model}" takes at most ${longest}`
  return refusal('context_length_exceeded', message, { field })
}

function refusal(code: ErrorCode, message: string, detail: ErrorDetail): Placement {
  return { kind: 'refuse', code, message, detail }
}

/** The rule as selected for a caller and an asked model, as plain data for a digest; it holds no counter and no state of a runner. */
export function routingRuleFor(rule: RoutingRule, facts: Readonly<Partial<Facts>>, model: string): unknown {
  return candidatesFor(rule, model, facts.principal?.tier ?? '').map(({ target, weight }) => {
    const { runner, model: served, min_tokens, min_input_length, max_input_length } = target
    return { runner, model: served, weight, min_tokens, min_input_length, max_input_length }
  })
}
