import type { EvidenceView } from '../admin/operations.ts'
import type { DecisionRecord } from '../folding/rollout/decision-record.ts'
import { armTotals } from '../folding/rollout/evidence.ts'
import type { Gate } from '../folding/rollout/gate.ts'
import { factLine, tableFromRows } from './output.ts'

/** What `/-/evidence` tells, for people: each layer that moves, its decision, and what stands in the way of the next step. */
export function linesFromEvidence({ layers }: EvidenceView, color: boolean): string {
  const entries = Object.entries(layers)
  if (entries.length === 0) return 'no layer is in shadow or canary'
  return entries.map(([layer, record]) => linesFromRecord(layer, record, color)).join('\n\n')
}

function linesFromRecord(layer: string, { at, evidence, decision }: DecisionRecord, color: boolean): string {
  const { step, rollout, startedAt, shares, replicas } = evidence
  const cells = evidence.cells.filter((cell) => cell.step === step && cell.window >= startedAt)
  const { canary, control } = armTotals(cells)
  const { kind, reason, fuse, eject, gates } = decision
  const tiers = Object.entries(shares).map(([tier, share]) => `${tier} ${Number((share * 100).toFixed(2))} %`)
  const facts: [string, string][] = [
    ['layer', layer],
    ['step', `${step} since ${new Date(startedAt).toISOString()}`],
    ...(tiers.length > 0 ? [['share', tiers.join(', ')] as [string, string]] : []),
    ['rollout', rollout],
    [
      'calls',
      `${canary.ended ?? 0} canary (${canary.bad ?? 0} bad), ${control.ended ?? 0} control (${control.bad ?? 0} bad)`,
    ],
    ['replicas', replicas.join(', ')],
    ['fuses', fuse ?? 'none blown'],
    ...(eject.length > 0 ? [['ejected', eject.join(', ')] as [string, string]] : []),
    ['decision', `${kind} at ${new Date(at).toISOString()}: ${reason}`],
  ]
  const table = tableFromRows(['GATE', 'VALUE', 'MUST BE', 'SEEN', 'NEEDS', 'MET'], gates.map(rowFromGate), color)
  return [facts.map(([head, text]) => factLine(head, text)).join('\n'), table].join('\n\n')
}

function rowFromGate({ name, value, threshold, at, n, needs, met }: Gate): string[] {
  const limit = `at ${at} ${figure(threshold)}`
  return [name, figure(value), limit, figure(n), needs === 0 ? '–' : figure(needs), met ? 'yes' : 'no']
}

/** Four digits that count; none of them for the ends of what a number can be. */
function figure(value: number): string {
  if (Math.abs(value) === Number.MAX_VALUE) return value > 0 ? 'without end' : 'none'
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(4)))
}
