import { startRedis } from '../support/redis.ts'
import { histogramOf, overheadsOf } from './chain-figures.ts'
import { unfoldedOf } from './chain-folded.ts'
import { type ChainRounds, type ChainSubject, measureAtRate, warmChain } from './chain-load.ts'
import { measureRealChain } from './chain-real-load.ts'
import { chainRows } from './chain-rows.ts'
import { chainNames, startChainSubjects } from './chain-subjects.ts'
import { failures } from './latency.ts'
import { inTurn } from './measure.ts'
import { type Row, type SuiteResult, skipped } from './report.ts'
import type { Rig } from './rig.ts'

const rate = 100
const modelMs = 290

/** The classic chain of seven services against Foldgate, each in front of the same engine, at a fixed rate. */
export async function chain(rig: Rig): Promise<SuiteResult> {
  const title = 'chain'
  await using redis = await startRedis()
  if (!redis) return { title, method: '', rows: [skipped('everything', 'redis-server not installed')], measured: {} }
  await using subjects = await startChainSubjects(rig, redis)
  const { engine, all, missing } = subjects
  const { rounds, openMs } = rig.options.durations
  for (const subject of all) await warmChain(rig, subject)
  const plain = await inRounds(all, { rounds, forMs: openMs })
  await engine.setModelTime(modelMs)
  const whole = await inRounds(all, { rounds: rig.options.quick ? 1 : Math.ceil(rounds / 2), forMs: openMs })
  const folded = all.find(({ name }) => name === chainNames.folded)
  const away = folded && (await unfoldedOf(folded))
  const real = await measureRealChain({ rig, engine, redis, rate, modelMs })
  const method = `${rate} calls a second (Poisson, the same arrivals for all), timed from when each was due; prompts of 1,200 tokens, no two alike, answers of 256; ${rounds} × ${openMs / 1000} s in turn, nothing pinned; Redis on this machine; overhead is latency less that of the engine alone at the same quantile of the same round, medians of rounds`
  return {
    title,
    method,
    rows: [
      ...chainRows({ plain, whole, missing, modelMs }),
      ...real.rows,
      ...(away === undefined ? [] : [strayed(away)]),
      ...failures(plain),
      ...failures(whole),
    ],
    drawn: drawn(plain),
    measured: { plain: Object.fromEntries(plain), whole: Object.fromEntries(whole), real: real.measured },
  }
}

/** Folded at the beginning and not at the end: then its figures are those of something else. */
function strayed(away: string): Row {
  return { what: 'folded to the end', target: 'every layer', reached: away, verdict: 'miss' }
}

function inRounds(all: readonly ChainSubject[], plan: { rounds: number; forMs: number }): Promise<ChainRounds> {
  const turns = new Map<string, number>()
  return inTurn(plan.rounds, all, (subject) => {
    const seed = (turns.get(subject.name) ?? 0) + 1
    turns.set(subject.name, seed)
    return measureAtRate(all.find(({ name }) => name === subject.name) as ChainSubject, { ...plan, rate, seed })
  })
}

function drawn(plain: ChainRounds): string {
  const pooled = (name: string): number[] => plain.get(name)?.flatMap(({ latencies }) => latencies) ?? []
  const engine = pooled(chainNames.engine)
  const { engine: behind, runner, bare } = chainNames
  const others = [...plain.keys()].filter((name) => ![behind, runner, bare].some((each) => each === name))
  const columns = others.map((name) => ({ name, values: overheadsOf(pooled(name), engine) }))
  const folded = overheadsOf(pooled(chainNames.folded), pooled(chainNames.runner))
  columns.push({ name: 'folded over its runner', values: folded })
  return histogramOf('overhead at a thousand quantiles of all rounds together', columns)
}
