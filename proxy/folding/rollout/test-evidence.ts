import type { Evidence, Flush, RolloutView } from './evidence.ts'
import {
  type ArmCounts,
  type Cell,
  noCounts,
  noSevere,
  noShadow,
  type RolloutStep,
  type UnitMark,
} from './evidence-counts.ts'
import { evidenceFrom } from './evidence-merge.ts'
import { constantsDigest, type StageConstants, stageConstants } from './stage-constants.ts'

/** When the steps of these tests begin. */
export const began = 1_700_000_000_000
/** Half an hour later: every dwell but the last step's is over. */
export const later = began + 40 * 60_000

/** The constants of a step for a healthy control of 100,000 calls. */
export function constantsOf(step: RolloutStep, unit: 'tenant' | 'conversation' = 'conversation'): StageConstants {
  return stageConstants(step, { layer: 'prompt', unit, control: { n: 100_000, x: 50 } })
}

/** One arm with so many calls, all well. */
export function arm(ended: number, more: Partial<ArmCounts> = {}): ArmCounts {
  return {
    ...noCounts,
    ...{ assigned: ended, started: ended, ended, timed: ended },
    ...{ overQ95: Math.round(ended * 0.05), overQ99: Math.round(ended * 0.01) },
    ...more,
  }
}

/** A cell of the tier `free`. */
export function cell(step: RolloutStep, canary: ArmCounts, control: ArmCounts, window = began): Cell {
  return { step, tier: 'free', window, canary, control }
}

/** Units `0` to `count − 1` in the canary and nine times as many in the control. */
export function marks(step: RolloutStep, count: number, more: Partial<UnitMark> = {}): UnitMark[] {
  return Array.from({ length: count * 10 }, (_, index) => ({
    step,
    tier: 'free',
    arm: index < count ? 'canary' : 'control',
    unit: `u${index}`,
    tenant: `t${index}`,
    events: [],
    ...more,
  }))
}

/** A flush of one process; nothing in it unless said. */
export function flush(more: Partial<Flush> = {}): Flush {
  return {
    ...{ replica: 'a', boot: '1', seq: 1, at: later, cells: [], units: [], places: [], shadow: noShadow },
    ...{ severe: noSevere, minutes: [], inFlight: 0, coverage: {} },
    ...more,
  }
}

/** What a leader knows of a rollout in this step that is well. */
export function viewOf(step: RolloutStep, constants = constantsOf(step)): RolloutView {
  return {
    rollout: 'r1',
    layer: 'prompt',
    step,
    startedAt: began,
    constantsDigest: constantsDigest(constants),
    shares: { free: 0.1 },
    sampled: 1,
    replicas: ['a'],
    incident: false,
    ignores: 0,
    seen: { units: 60, tenants: 60, strata: { stream: 900, 'non-stream': 100 } },
    cusumPeak: 0,
    p99: { canaryMs: 900, controlMs: 900, calls: 6_000 },
  }
}

/** Flushes of a rollout in S1 that has seen enough and may go on. */
export function healthyFlushes(step: 'S1' | 'S2' = 'S1'): Flush[] {
  const each = (replica: string): Flush =>
    flush({
      replica,
      cells: [cell(step, arm(1_500, { bad: 1 }), arm(13_500, { bad: 9 }))],
      units: marks(step, 60),
      places: [{ kind: 'gateway', id: replica, ended: 1_500, blown: [], waitingMs: [] }],
      coverage: { stream: 1_400, 'non-stream': 100 },
    })
  return [each('a'), each('b')]
}

/** Evidence of {@link healthyFlushes}, changed. */
export function healthyEvidence(more: Partial<Evidence> = {}): Evidence {
  return { ...evidenceFrom(viewOf('S1'), healthyFlushes()), ...more }
}

/** Evidence of a shadow that has seen enough. */
export function shadowEvidence(compared = 2_995, different = 0, more: Partial<Evidence> = {}): Evidence {
  const shadow = {
    ...noShadow,
    eligible: compared + 10,
    skipped: 10,
    strata: {
      all: { compared, different },
      stream: { compared: 1_000, different: 0 },
      'non-stream': { compared: 100, different: 0 },
    },
  }
  return { ...evidenceFrom(viewOf('shadow'), [flush({ shadow })]), ...more }
}
