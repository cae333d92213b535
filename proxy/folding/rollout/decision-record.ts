import { canonicalJson } from '../../../plugins/canonical.ts'
import { type Decision, decide } from './decision.ts'
import type { Evidence } from './evidence.ts'
import type { StageConstants } from './stage-constants.ts'

/** A decision with all that it rested on, as it is kept: plain JSON, enough to decide again. */
export interface DecisionRecord {
  /** The instant it was made for, in milliseconds since the epoch. */
  readonly at: number
  readonly constants: StageConstants
  readonly evidence: Evidence
  readonly decision: Decision
}

/** Decides, and keeps what it rested on. */
export function recordedDecision(evidence: Evidence, constants: StageConstants, at: number): DecisionRecord {
  return { at, constants, evidence, decision: decide(evidence, constants, at) }
}

/** What a record's evidence comes to when it is decided over again. */
export function replay({ evidence, constants, at }: DecisionRecord): Decision {
  return decide(evidence, constants, at)
}

/** Whether a record's decision is the one that its evidence comes to. */
export function isFaithful(record: DecisionRecord): boolean {
  return canonicalJson(replay(record)) === canonicalJson(record.decision)
}

/** At most how old the newest evidence is: calls are counted in minutes and windows, of which the beginning is known. Null: there is none. */
export function evidenceAgeMs({ evidence: { minutes, cells, step } }: DecisionRecord, now: number): number | null {
  const arm = step === 'shadow' ? 'control' : 'canary'
  const begun = [
    ...minutes.filter(({ assigned }) => assigned > 0).map(({ minute }) => minute),
    ...cells.filter((cell) => cell[arm].ended > 0).map(({ window }) => window),
  ]
  return begun.length === 0 ? null : Math.max(0, now - Math.max(...begun))
}
