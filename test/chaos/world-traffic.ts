import type { ErrorCode } from '../../plugins/errors.ts'
import type { FallbackReason } from '../../plugins/execution-context-fallback.ts'
import { isMoving, shareOf } from '../../plugins/stage.ts'
import { hashOf } from '../../proxy/folding/collect/test-calls.ts'
import { equalOf, plainStrata } from '../../proxy/folding/diff/test-comparisons.ts'
import { isInShare } from '../../proxy/folding/draw.ts'
import { stepOf } from '../../proxy/folding/draws.ts'
import type { Arm } from '../../proxy/folding/rollout/evidence-counts.ts'
import { normal, type Random } from '../support/random.ts'
import { movingLayer, type WorldReplica } from './world-replica.ts'

/** How one call ends; what is not said is well. */
export interface Outcome {
  readonly code?: number
  readonly error?: ErrorCode
  readonly fallback?: FallbackReason
  /** No byte of it ever comes. */
  readonly hangs?: boolean
  readonly firstByteMs?: number
  /** It is over, and no span says so. */
  readonly unheard?: boolean
}

/** A call as whoever decides over its end sees it. */
export interface SimulatedCall {
  /** Milliseconds since the world began. */
  readonly at: number
  readonly arm: Arm
  readonly unit: number
  readonly replica: string
  readonly runner: string
  readonly random: Random
}

/** What calls come, and how they end. */
export interface Traffic {
  /** Calls a second, of all replicas together. */
  readonly rate: number
  /** Conversations, each of a tenant of its own. */
  readonly units: number
  readonly runners: readonly string[]
  /** One conversation that calls so many times as often as each other. */
  readonly storm?: { readonly unit: number; readonly times: number }
  readonly ends: (call: SimulatedCall) => Outcome
  /** Draws by another salt than the rollout's at this replica. */
  readonly salt?: (replica: string) => string | undefined
}

/** Well-behaved traffic of 200 conversations over two runners. */
export const calm: Traffic = { rate: 20, units: 200, runners: ['gpu-1', 'gpu-2'], ends: () => ({}) }

const hashes = new Map<number, string>()
function hashOfUnit(unit: number): string {
  const hash = hashes.get(unit) ?? hashOf(unit)
  hashes.set(unit, hash)
  return hash
}

/** A bad end at this rate. */
export function badAt(rate: number, { random }: SimulatedCall): Outcome {
  return random() < rate ? { code: 500 } : {}
}

/** Ends for the canary alone: beside it all is well. */
export function inCanary(ends: Traffic['ends']): Traffic['ends'] {
  return (call) => (call.arm === 'canary' ? ends(call) : {})
}

/** Draws whose call comes next. */
export function nextUnit(random: Random, { units, storm }: Traffic): number {
  const drawn = Math.floor(random() * (units + (storm?.times ?? 0)))
  return drawn < units ? drawn : (storm?.unit ?? 0)
}

const tier = 'free'
const compared = equalOf({ tier, strata: { ...plainStrata, stream: true } })

/** One call, from its draw to its end, at a replica; gives back in which arm it was, if anything moves. */
export function play(
  replica: WorldReplica,
  traffic: Traffic,
  drawn: Omit<SimulatedCall, 'arm' | 'replica'>,
): Arm | undefined {
  const { stages, collector, ejections, controller } = replica
  const stage = stages.of(movingLayer)
  const { rollout } = stage
  if (!isMoving(stage) || rollout === undefined) return undefined
  const unit = hashOfUnit(drawn.unit)
  // A salt of its own for each rollout, but the same in every run.
  const by = { layer: movingLayer, salt: traffic.salt?.(replica.id) ?? `rollout ${stages.stateOf(movingLayer).gen}` }
  const arm: Arm =
    stage.stage === 'canary' && isInShare(by, `c:${drawn.unit}`, shareOf(stage, tier)) ? 'canary' : 'control'
  const step = stepOf(stages, movingLayer)
  const startedAt = replica.now()
  const flight = collector.assigned({
    ...{ rollout, step, tier, arm, unit, tenant: unit, startedAt },
    stepStartedAt: stages.stateOf(movingLayer).startedAt,
  })
  flight.started(drawn.runner)
  const out = arm === 'canary' && ejections.has(rollout, drawn.runner)
  const end: Outcome = out ? { fallback: 'operator-disabled' } : traffic.ends({ ...drawn, arm, replica: replica.id })
  if (end.hangs) return arm
  flight.firstByte()
  if (!end.unheard) {
    const attrs = attributesOf({ rollout, step, arm, unit, startedAt, runner: drawn.runner }, end, drawn.random)
    collector.onEnd({ code: end.code ?? 200, source: 'runner', error: end.error, attrs })
  }
  flight.over()
  // As in the product: what may have to stop a canary is looked at as soon as it is heard.
  if ((end.code ?? 200) >= 500 || (end.fallback && !out)) void controller.look()
  if (step === 'shadow') collector.compared(rollout, compared)
  return arm
}

interface Noted {
  readonly rollout: string
  readonly step: string
  readonly arm: Arm
  readonly unit: string
  readonly startedAt: number
  readonly runner: string
}

function attributesOf({ rollout, step, arm, unit, startedAt, runner }: Noted, end: Outcome, random: Random) {
  const here = arm === 'canary' && end.fallback === undefined
  const status = end.fallback ? 'fallback' : here ? 'evaporation-accelerating' : 'evaporation-started'
  return {
    'foldgate.arm': here ? 'proving' : 'shadow',
    [`foldgate.layer.${movingLayer}.status`]: status,
    [`foldgate.layer.${movingLayer}.by`]: here ? 'runner' : 'gateway',
    [`foldgate.layer.${movingLayer}.reason`]: end.fallback,
    'foldgate.fallback.reason': end.fallback,
    'foldgate.moving': movingLayer,
    'foldgate.stage': step === 'shadow' ? 'shadow' : 'canary',
    'foldgate.step': step,
    'foldgate.rollout': rollout,
    'foldgate.unit': unit,
    'foldgate.tenant': unit,
    'foldgate.tier': tier,
    'foldgate.started_at': startedAt,
    'foldgate.first_byte_ms': end.firstByteMs ?? Math.round(200 * Math.exp(0.5 * normal(random))),
    'foldgate.runner': runner,
    'foldgate.stream': true,
    'foldgate.size': '1k',
  } as const
}
