import { until } from '../support/gate.ts'
import type { Redis } from '../support/redis.ts'
import type { ChainEngine } from './chain/start-engine.ts'
import { overheadAt } from './chain-figures.ts'
import { type ChainRound, type ChainSubject, measureAtRate, warmChain } from './chain-load.ts'
import { startRealChain } from './chain-real.ts'
import { percentile, shown } from './figures.ts'
import { type Row, skipped, told } from './report.ts'
import type { Rig } from './rig.ts'

/** What the real chain is measured with. */
export interface RealChainPlan {
  readonly rig: Rig
  readonly engine: ChainEngine
  readonly redis: Redis
  /** Calls a second that the others were measured at. */
  readonly rate: number
  readonly modelMs: number
}

/** What was found of it, for information: it has no target. */
export interface RealChainFindings {
  readonly rows: readonly Row[]
  readonly measured: unknown
}

const name = 'nginx + LiteLLM'
const note = 'key, cache and counters on Redis, weighted choice; less than the seven services do'
// Where it does not keep up with the rate of the others, it is measured at this one.
const lowRate = 20

/**
 * Measures nginx and LiteLLM after everything else and apart from it: where they do not keep up, what is left over from one measurement
 * would fall on the next. With the time of the model as it was set last.
 */
export async function measureRealChain(plan: RealChainPlan): Promise<RealChainFindings> {
  const { rig, engine, redis, rate, modelMs } = plan
  if (rig.options.quick) return { rows: [skipped(name, 'left out by --quick')], measured: {} }
  const started = await startRealChain({ engine: engine.port, redis: redis.port })
  if ('missing' in started) return { rows: [skipped(name, started.missing)], measured: {} }
  await using real = started
  const subject: ChainSubject = { name, port: real.port, pids: real.pids, token: real.token, unique: true }
  const direct: ChainSubject = { name: 'engine', port: engine.port, pids: [], unique: true }
  await engine.setModelTime(0)
  await warmChain(rig, subject, 4)
  const forMs = rig.options.durations.openMs
  const at = async (each: number): Promise<Pair> => ({
    engine: await measureAtRate(direct, { rate: each, forMs, seed: 1 }),
    real: await measureAtRate(subject, { rate: each, forMs, seed: 1 }),
  })
  const first = await at(rate)
  const kept = keepsUp(first)
  if (!kept && !(await calms(subject))) return { rows: [behindRow(first, rate)], measured: { first } }
  const plain = kept ? first : await at(lowRate)
  await engine.setModelTime(modelMs)
  const whole = await at(kept ? rate : lowRate)
  const label = `${name}, ${kept ? rate : lowRate} calls a second`
  return {
    rows: [...(kept ? [] : [behindRow(first, rate)]), overheadRow(label, plain), wholeRow(label, whole)],
    measured: { first, plain, whole },
  }
}

interface Pair {
  readonly engine: ChainRound
  readonly real: ChainRound
}

const keepsUp = ({ real }: Pair): boolean => real.failed === 0 && percentile(real.latencies, 0.5) < 1000

function behindRow({ real }: Pair, rate: number): Row {
  const all = real.failed + real.latencies.length
  const words = `p50 ${shown(percentile(real.latencies, 0.5))} ms; ${real.failed} of ${all} calls had no answer in time`
  return told(`${name}, ${rate} calls a second`, 'does not keep up on this machine', words)
}

function overheadRow(label: string, { engine, real }: Pair): Row {
  const [low, high] = [0.5, 0.99].map((p) => shown(overheadAt(real.latencies, engine.latencies, p)))
  return told(`overhead, ${label}`, `p50 ${low} ms, p99 ${high} ms`, `${shown(real.cpuMs)} ms CPU a call; ${note}`)
}

function wholeRow(label: string, { real }: Pair): Row {
  const [low, high] = [0.5, 0.99].map((p) => shown(percentile(real.latencies, p)))
  return told(`end to end, ${label}`, `p50 ${low} ms, p99 ${high} ms`)
}

/** Waits until what was left over has been worked off; false when it has not been after two minutes. */
function calms(subject: ChainSubject): Promise<boolean> {
  const calm = async (): Promise<boolean> => {
    const { latencies } = await measureAtRate(subject, { rate: 2, forMs: 1000, seed: 1 })
    return latencies.length === 2 && Math.max(...latencies) < 500
  }
  return until(calm, 'LiteLLM is calm', 120_000).then(
    () => true,
    () => false,
  )
}
