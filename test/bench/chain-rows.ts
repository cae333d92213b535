import { overheadAt } from './chain-figures.ts'
import type { ChainRound, ChainRounds } from './chain-load.ts'
import { chainNames } from './chain-subjects.ts'
import { median, percentile, shown } from './figures.ts'
import { atLeast, atMost, type Row, skipped, told } from './report.ts'

/** What the rows of the suite `chain` are made from. */
export interface ChainFindings {
  /** With an engine that answers at once. */
  readonly plain: ChainRounds
  /** With the model's time in it. */
  readonly whole: ChainRounds
  /** Why a subject is not there, by its name. */
  readonly missing: Readonly<Record<string, string>>
  readonly modelMs: number
}

// What the client can tell apart: less than this counts as this, so that a ratio never rests on its noise.
const leastMs = 0.05
const [p50, p99] = [0.5, 0.99]

/** All rows: overheads, what they are to each other, and calls from end to end. */
export function chainRows(findings: ChainFindings): Row[] {
  const { plain, whole, missing } = findings
  const others = (rounds: ChainRounds): string[] => [...rounds.keys()].filter((name) => name !== chainNames.engine)
  return [
    ...others(plain).map((name) => overheadRow(plain, name)),
    ...overRunner(plain),
    ...Object.entries(missing).map(([name, why]) => skipped(`overhead, ${name}`, why)),
    ...comparisons(findings).map((row) => (row.verdict === 'skipped' ? row : undisturbed(plain, row))),
    ...[...whole.keys()].map((name) => wholeRow(findings, name)),
    told('engine alone, at once', quantilesOf(roundsOf(plain, chainNames.engine)), latenessOf(plain)),
  ]
}

function comparisons({ plain, whole, missing }: ChainFindings): Row[] {
  const { chain, unfolded, folded, alone, bare } = chainNames
  const why = missing[folded]
  const over = (name: string): string =>
    [p50, p99].map((p, at) => `${at === 0 ? 'p50' : 'p99'} ${shown(ratio(plain, [chain, name], p))} ×`).join(', ')
  const rows = [
    told('chain ÷ unfolded, overhead', over(unfolded)),
    ...(plain.has(alone) ? [told('chain ÷ folded without Redis, overhead', over(alone))] : []),
  ]
  if (why !== undefined) {
    const names = ['chain ÷ folded, overhead p99', 'folded ÷ unfolded, overhead p99']
    return [...names.map((name) => skipped(name, why)), ...rows]
  }
  const most = ratio(plain, [chain, folded], p99)
  const least = ratio(plain, [folded, unfolded], p99)
  const times = (value: number) => ({ unit: '×', reached: `${shown(value)} ×` })
  const hop = plain.has(bare) ? `; over one bare hop ${shown(ratio(plain, [chain, bare], p99))} ×` : ''
  const note = `p50 ${shown(ratio(plain, [chain, folded], p50))} ×${hop}; the field's figure is 12.6 ×`
  const wholeP99 = (name: string): number =>
    median(roundsOf(whole, name).map((each) => percentile(each.latencies, p99)))
  return [
    atLeast('chain ÷ folded, overhead p99', most, { limit: 20, ...times(most), note }),
    atMost('folded ÷ unfolded, overhead p99', least, { limit: 0.3, ...times(least) }),
    told('folded ÷ unfolded, end to end p99', `${shown(wholeP99(folded) / wholeP99(unfolded))} ×`),
    ...rows,
  ]
}

function overheadRow(plain: ChainRounds, name: string): Row {
  const [low, high] = [p50, p99].map((p) => overheads(plain, name, p)) as [number[], number[]]
  const reached = `p50 ${shown(median(low))} ms, p99 ${shown(median(high))} ms`
  const cpu = shown(median(roundsOf(plain, name).map(({ cpuMs }) => cpuMs)))
  const spread = `${shown(Math.min(...high))}–${shown(Math.max(...high))}`
  return told(`overhead, ${name}`, reached, `p99 of rounds ${spread} ms; ${cpu} ms CPU a call`)
}

function wholeRow({ whole, modelMs }: ChainFindings, name: string): Row {
  const mine = roundsOf(whole, name)
  const times = [p50, p99].map((p) => shown(median(mine.map((each) => percentile(each.latencies, p))) / modelMs))
  return told(`end to end, ${name}`, quantilesOf(mine), `${times.join(' and ')} × the ${modelMs} ms of the model`)
}

function quantilesOf(rounds: readonly ChainRound[]): string {
  const [low, high] = [p50, p99].map((p) => shown(median(rounds.map((each) => percentile(each.latencies, p)))))
  return `p50 ${low} ms, p99 ${high} ms`
}

// A client that has a core when it needs one is some tenths of a millisecond late.
const mostLateMs = 2

/** How late the client was in front of the engine alone, when nothing of ours loaded the machine. */
const lateness = (plain: ChainRounds): number =>
  median(roundsOf(plain, chainNames.engine).map(({ lateP99 }) => lateP99))

const isDisturbed = (plain: ChainRounds): boolean => lateness(plain) > mostLateMs

/** A verdict needs a machine of its own: without one, queues that are not ours make the slower side look worse than it is. */
function undisturbed(plain: ChainRounds, row: Row): Row {
  if (row.verdict === 'told' || !isDisturbed(plain)) return row
  return { ...row, verdict: 'skipped', note: 'something else used the machine: no result' }
}

function latenessOf(plain: ChainRounds): string {
  return `the client sent late by ${shown(lateness(plain))} ms at p99, which is in every figure`
}

const roundsOf = (rounds: ChainRounds, name: string): readonly ChainRound[] => rounds.get(name) ?? []

/** The overhead of each round over the same round of the engine, or of what else is behind it. */
function overheads(plain: ChainRounds, name: string, p: number, behind: string = chainNames.engine): number[] {
  const engine = roundsOf(plain, behind)
  return roundsOf(plain, name).map((each, round) => overheadAt(each.latencies, engine[round]?.latencies ?? [], p))
}

/** The median over rounds of one overhead divided by another. */
function ratio(plain: ChainRounds, [mine, other]: readonly [string, string], p: number): number {
  return ratioOf(overheads(plain, mine, p), overheads(plain, other, p))
}

const ratioOf = (mine: readonly number[], other: readonly number[]): number =>
  median(mine.map((each, round) => each / Math.max(leastMs, other[round] ?? Number.NaN)))

/** Folded over the runner alone: that runner is the engine of whoever folds, so its own serving is not what folding costs. */
function overRunner(plain: ChainRounds): Row[] {
  const { chain, folded, runner } = chainNames
  if (!plain.has(runner)) return []
  const over = (p: number): number[] => overheads(plain, folded, p, runner)
  const times = (p: number): string => shown(ratioOf(overheads(plain, chain, p), over(p)))
  return [
    told(
      'overhead, folded over its own runner',
      `p50 ${shown(median(over(p50)))} ms, p99 ${shown(median(over(p99)))} ms`,
      `chain ÷ that: p50 ${times(p50)} ×, p99 ${times(p99)} ×`,
    ),
  ]
}
