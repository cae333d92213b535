import { sprtVerdict } from '../statistics/sprt.ts'
import type { Evidence } from './evidence.ts'
import { figuresFrom } from './figures.ts'
import type { Blown, FuseId } from './fuse.ts'
import { fusesFound } from './fuses.ts'
import type { Gate } from './gate.ts'
import { canaryGates, type GateView } from './gates.ts'
import { differsForGood, shadowGates } from './gates-shadow.ts'
import { constantsDigest, type StageConstants } from './stage-constants.ts'

/** What becomes of a layer that is moving. `continue`: it stays where it is and goes on. `hold`: it stays, and a person should look. */
export type DecisionKind = 'rollback' | 'hold' | 'promote' | 'continue'

/** A decision, with everything that it weighed. */
export interface Decision {
  readonly kind: DecisionKind
  /** In words, with the numbers. */
  readonly reason: string
  /** Every gate of the step, met or not, also when something else decided. */
  readonly gates: readonly Gate[]
  /** The fuse that decided. */
  readonly fuse?: FuseId
  /** Only a person may begin this again. */
  readonly permanent?: boolean
  /** Places to be taken out of the canary at once, as `gateway NAME` or `runner NAME`, whatever becomes of the layer. */
  readonly eject: readonly string[]
}

/** A replica that was not heard for so long is blind, in milliseconds. */
export const blindAfterMs = 30_000
/** A step without a single call for so long has no data, in milliseconds. */
export const emptyAfterMs = 600_000

/**
 * Decides over one layer from evidence alone: any fuse takes it back; both arms bad, blind or missing telemetry, an operator's hold or
 * changed constants hold it; all gates met promotes it; too long or too much without a verdict holds it; else it goes on. Pure: the same
 * evidence, constants and instant (milliseconds since the epoch) give the same decision, wherever and whenever they are replayed.
 */
export function decide(evidence: Evidence, constants: StageConstants, now: number): Decision {
  const frozen = constantsDigest(constants) === evidence.constantsDigest && constants.step === evidence.step
  const figures = figuresFrom(evidence, constants)
  const view: GateView = { evidence, constants, figures, now }
  const gates = evidence.step === 'shadow' ? shadowGates(view) : canaryGates(view)
  const { blown, eject } = fusesFound({ ...view, frozen })
  const told = (kind: DecisionKind, reason: string, more: Pick<Decision, 'fuse' | 'permanent'> = {}): Decision => ({
    kind,
    reason,
    gates,
    eject,
    ...more,
  })
  const { tripped } = evidence
  if (tripped) return told('rollback', `it has tripped: ${tripped.reason}`, { fuse: tripped.fuse })
  const fuse = blown.find(({ asks }) => asks === 'rollback') ?? blown[0]
  if (fuse) return told(fuse.asks, `${fuse.fuse}: ${fuse.reason}`, carried(fuse))
  const held = heldBecause(view, frozen)
  if (held) return told('hold', held)
  const open = gates.filter(({ met }) => !met)
  if (open.length === 0) return told('promote', `all ${gates.length} gates are met`)
  const late = inconclusive(view)
  if (late) return told('hold', `${late}; open: ${namesOf(open)}`)
  return told('continue', `open: ${namesOf(open)}`)
}

const namesOf = (gates: readonly Gate[]): string => gates.map(sayOpen).join(', ')

/** What takes thousands of clean calls is not met for long, and that is no failing. */
function sayOpen({ name, n, needs, value, threshold }: Gate): string {
  const rare = name === 'failures' || name === 'differences'
  if (!rare || n >= needs || value <= threshold) return name
  return `${name} (not yet shown, ${n.toLocaleString('en')}/${needs.toLocaleString('en')})`
}

function carried({ fuse, permanent }: Blown): Pick<Decision, 'fuse' | 'permanent'> {
  return { fuse, ...(permanent ? { permanent } : {}) }
}

function heldBecause({ evidence, figures, now }: GateView, frozen: boolean): string | undefined {
  const { operator, replicas, heard, step } = evidence
  if (!frozen) return 'the constants are not those that were frozen; another value is another rollout'
  if (operator) return `${operator.actor}: ${operator.reason}`
  if (evidence.incident) return 'something is wrong everywhere'
  if (now - evidence.startedAt < blindAfterMs) return undefined
  const blind = replicas.filter((replica) => now - (heard[replica] ?? 0) > blindAfterMs)
  if (replicas.length === 0 || blind.length > 0) return `blind: nothing heard of ${blind.join(', ') || 'any replica'}`
  const seen = step === 'shadow' ? evidence.shadow.eligible : figures.canary.assigned
  return !seen && now - evidence.startedAt >= emptyAfterMs ? 'no data: not a single call' : undefined
}

/** Too long, or too much, without a verdict. Never a promotion. */
function inconclusive(view: GateView): string | undefined {
  const { evidence, constants, figures, now } = view
  if (evidence.step === 'shadow' && differsForGood(view)) return 'the two halves differ more often than is allowed'
  if (now - evidence.startedAt >= constants.mostMs) return 'inconclusive: the time for this step is up'
  const { n } = figures.errors
  if (n >= constants.mostCalls && sprtVerdict(figures.errors, constants.errors) === 'continue')
    return `inconclusive after ${n} calls`
  return undefined
}
