import { randomBytes } from 'node:crypto'
import { gatewayError } from '../../plugins/errors.ts'
import { isMoving, type LayerStage, type Stage, sayStage } from '../../plugins/stage.ts'
import type { LayerState } from './state/document.ts'
import { createUlid } from './state/replica.ts'
import type { TransitionResult } from './state/state.ts'

/** Why a change was not taken, in words. */
export const stageRefusals: Readonly<Record<Exclude<TransitionResult, 'done'>, string>> = {
  stale: 'somebody else has just moved a layer; look again',
  fenced: 'another replica leads by now; it moves the layers',
  tripped: 'this rollout was taken back; begin a new one',
  'second-layer': 'another layer is in shadow or canary; one moves at a time',
  unavailable: 'the store of the stages does not answer; nothing is promoted until it does',
}

/** What may be asked of one layer, in the order they come in a rollout. */
export const stageVerbs = ['shadow', 'canary', 'promote', 'hold', 'resume', 'rollback'] as const

/** One of {@link stageVerbs}. */
export type StageVerb = (typeof stageVerbs)[number]

/** By what a layer moves: the shares of a canary in percent, rising, and the tiers, first to move first. */
export interface MovePlan {
  readonly steps: readonly number[]
  readonly tiers: readonly string[]
}

/** A layer that is not out. */
export const atHome: LayerState = {
  stage: 'gateway',
  weights: {},
  rolloutId: '',
  gen: 0,
  salt: '',
  cfgHash: '',
  artifactDigest: '',
  startedAt: 0,
  held: false,
  reason: '',
  actor: '',
}

/** The key under which weights hold the share of callers without a tier. */
export const noTier = '-'
/** The key for all tiers alike, where no order of tiers is configured. */
export const anyTier = '*'

/**
 * The share of each tier at a step, in basis points (`canary.md` §5): internal callers at once, the last tier (VIP) not before the last step,
 * the one before it later than the others. At the last step one unit in fifty stays behind as the control, and VIP begin with a twentieth.
 */
export function weightsAt(percent: number, { steps, tiers }: MovePlan): Readonly<Record<string, number>> {
  const index = steps.indexOf(percent)
  const last = percent === steps.at(-1)
  // A share never falls from one step to the next, however near to all of it the step before was.
  const most = last && steps.length > 1 ? Math.max(9_800, 100 * (steps.at(-2) ?? 0)) : percent * 100
  const weights: Record<string, number> = { [noTier]: most, ...(tiers.length === 0 ? { [anyTier]: most } : {}) }
  for (const [place, tier] of tiers.entries()) {
    const fromEnd = tiers.length - 1 - place
    if (tier === 'internal') weights[tier] = 10_000
    else if (tiers.length > 1 && fromEnd === 0) weights[tier] = last ? firstVip : 0
    else if (tiers.length > 2 && fromEnd === 1) weights[tier] = index === 0 ? 0 : index === 1 && !last ? most / 2 : most
    else weights[tier] = most
  }
  return weights
}

const firstVip = 500
const vipShares = [500, 2_500, 10_000]

/** The weights of the last step with more of the last tier in it; undefined when all of it is in. */
export function moreVip(
  weights: Readonly<Record<string, number>>,
  { tiers }: MovePlan,
): Record<string, number> | undefined {
  const vip = tiers.length > 1 ? tiers.at(-1) : undefined
  const next = vip === undefined ? undefined : vipShares.find((share) => share > (weights[vip] ?? 0))
  return vip === undefined || next === undefined ? undefined : { ...weights, [vip]: next }
}

/** The share in percent that weights are of: what callers without a tier have. */
export function percentOf({ weights }: Pick<LayerState, 'weights'>, { steps }: MovePlan): number {
  const share = (weights[noTier] ?? 0) / 100
  return steps.find((step) => step >= share) ?? 100
}

/** A stage as seats and people see it. */
export function stageFrom(state: LayerState, plan: MovePlan): LayerStage {
  const { stage, rolloutId, salt, held } = state
  const known = { ...(held ? { held } : {}), ...(rolloutId ? { rollout: rolloutId } : {}), ...(salt ? { salt } : {}) }
  if (stage !== 'canary') return { stage, weight: 0, ...known }
  return { stage, weight: percentOf(state, plan), weights: state.weights, ...known }
}

/** Who asked for a change, and why. */
export interface ChangedBy {
  readonly actor: string
  readonly reason: string
}

/** What a state is worked out from. */
export interface NextFrom {
  readonly layer: string
  readonly from: LayerState
  readonly plan: MovePlan
  readonly by: ChangedBy
  readonly now: number
  /** Digest of what would be rolled out. */
  readonly artifact: string
}

/** Where a layer goes from where it is: a canary only after a shadow, and one step at a time. Throws `stage_refused` saying why not. */
export function nextState(verb: 'shadow' | 'canary' | 'promote', next: NextFrom): LayerState {
  const { layer, from, plan } = next
  const said = sayStage(stageFrom(from, plan))
  if (from.held) throw gatewayError('stage_refused', `${layer} is on hold; resume it first`)
  if (verb === 'shadow') {
    if (from.stage === 'gateway' || from.stage === 'rolled-back') return startedAt('shadow', next)
    throw gatewayError('stage_refused', `${layer} is ${said} already; roll it back first`)
  }
  if (verb === 'canary') {
    if (from.stage === 'shadow') return movedTo('canary', plan.steps[0] ?? 100, next)
    throw gatewayError('stage_refused', `${layer} is ${said}; a canary begins from shadow`)
  }
  if (from.stage === 'native') throw gatewayError('stage_refused', `${layer} is native already`)
  if (!isMoving(from)) return startedAt('shadow', next)
  const edited = stepsFault(from, plan)
  if (edited) throw gatewayError('stage_refused', `${layer} is ${said}; ${edited}`)
  const percent = from.stage === 'shadow' ? 0 : percentOf(from, plan)
  const step = plan.steps.find((each) => each > percent)
  return step === undefined ? movedTo('native', 0, next) : movedTo('canary', step, next)
}

/**
 * Why a canary cannot go on, where its steps were changed in the middle of it: what it has proved was proved for other shares. In words;
 * undefined: they are what they were when it began.
 */
export function stepsFault({ stage, cfgHash }: LayerState, { steps }: Pick<MovePlan, 'steps'>): string | undefined {
  if (stage !== 'canary' || cfgHash === '' || cfgHash === stepsHash(steps)) return undefined
  return `folding.policy.stages was ${cfgHash} when it began and is ${stepsHash(steps)} now; roll it back and start anew, or change it back`
}

const stepsHash = (steps: readonly number[]): string => steps.join(',')

/** A layer at a stage by a new rollout. */
export function startedAt(stage: Stage, { from, plan, by, now, artifact }: NextFrom): LayerState {
  return {
    ...from,
    stage,
    weights: stage === 'canary' ? weightsAt(plan.steps[0] ?? 100, plan) : {},
    rolloutId: createUlid(now),
    gen: from.gen + 1,
    salt: randomBytes(8).toString('hex'),
    cfgHash: stepsHash(plan.steps),
    artifactDigest: artifact,
    startedAt: 0,
    held: false,
    ...by,
  }
}

function movedTo(stage: Stage, percent: number, { from, plan, by, artifact }: NextFrom): LayerState {
  const weights = stage === 'canary' ? weightsAt(percent, plan) : {}
  // A shadow has proved nothing about shares: the canary begins with the steps as they are now.
  const cfgHash = from.stage === 'shadow' ? stepsHash(plan.steps) : from.cfgHash
  return { ...from, stage, weights, cfgHash, artifactDigest: artifact, startedAt: 0, held: false, ...by }
}
