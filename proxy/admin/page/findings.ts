import type { ConsumersView } from '../../consumers.ts'
import type { RecentSum, RecentView } from '../../telemetry/recent-view.ts'
import type { ReplicasView, StatusView } from '../operations.ts'
import type { Finding, PageJudged, PageLayer } from './page-snapshot.ts'
import { count, ms, percent } from './say.ts'

/** What findings are made of. */
export interface FindingSource {
  readonly now: number
  readonly status: StatusView
  readonly load: RecentView
  readonly layers: readonly PageLayer[]
  readonly judged: readonly PageJudged[]
  readonly replicas: ReplicasView | null
  /** Of layers that move: comparisons that differ hard, of all that were made, and the most frequent form of difference. */
  readonly differences: readonly Difference[]
  readonly consumers: ConsumersView
}

/** How often the two halves of a layer differ. */
export interface Difference {
  readonly layer: string
  readonly hard: number
  readonly compared: number
  readonly worst: string | null
}

/** As many as anybody reads. */
const mostFindings = 8
const order = { bad: 0, warn: 1, info: 2 } as const

/** What to look at, worst first, each in one sentence. Empty: nothing stands out. */
export function findingsFrom(source: FindingSource): Finding[] {
  const all = [
    ...callers(source),
    ...problems(source),
    ...away(source),
    ...taken(source),
    ...fallbacks(source),
    ...different(source),
    ...undecided(source),
    ...still(source),
  ]
  // Sorting is stable: within a severity the order above stays.
  return all.toSorted((a, b) => order[a.severity] - order[b.severity]).slice(0, mostFindings)
}

const fewestCalls = 20

/** What callers notice themselves. */
function callers({ load: { now, before, beforeIs } }: FindingSource): Finding[] {
  const found: Finding[] = []
  if (now.calls < fewestCalls) return found
  const than = beforeIs === 'hour-ago' ? 'an hour ago' : 'since the start'
  const [rate, was] = [rateOf(now), before && rateOf(before)]
  if (rate >= 0.01 && (was === null || rate > 2 * was))
    found.push({
      id: 'errors',
      severity: 'bad',
      words: `${percent(rate)} of calls fail: ${now.failed} of ${now.calls} in ${now.minutes} minutes${was === null ? '' : `, ${percent(was)} ${than}`}`,
      runbook: 'error-budget-burn',
      command: 'foldgate status',
    })
  const [slow, wasSlow] = [now.firstByteMs?.p95, before && before.calls >= fewestCalls ? before.firstByteMs?.p95 : null]
  if (slow && wasSlow && slow > 1.5 * wasSlow && slow - wasSlow > 50)
    found.push({
      id: 'slow',
      severity: 'warn',
      words: `calls wait ${ms(slow)} for their first byte (p95), ${ms(wasSlow)} ${than}; ${blame(now, before)}`,
      runbook: 'latency-high',
    })
  const overhead = now.overheadMs?.p95 ?? 0
  if (overhead > 50)
    found.push({
      id: 'overhead',
      severity: 'warn',
      words: `the gateway itself takes ${ms(overhead)} of a call (p95); 50 ms is the limit of the alert`,
      runbook: 'latency-high',
    })
  return found
}

const rateOf = ({ failed, calls }: RecentSum): number => (calls === 0 ? 0 : failed / calls)

/** Which part has grown more. */
function blame(now: RecentSum, before: RecentSum | null): string {
  const grown = (what: 'overheadMs' | 'runnerMs'): number => (now[what]?.p95 ?? 0) - (before?.[what]?.p95 ?? 0)
  return grown('runnerMs') >= grown('overheadMs') ? 'it is the runner' : 'it is the gateway'
}

const runbooks: readonly (readonly [RegExp, string])[] = [
  [/^runner /, 'runner-unavailable'],
  [/^the store /, 'store-down'],
  [/reload/, 'config-reload-refused'],
  [/cannot act at any runner process/, 'layer-falling-back'],
]

/** What `status` calls a problem, in its words. */
function problems({ status }: FindingSource): Finding[] {
  const found = status.problems.map((words): Finding => {
    const runbook = runbooks.find(([pattern]) => pattern.test(words))?.[1]
    const all = status.runners.every(({ available }) => !available)
    const severity =
      /^the last reload|^no layer leaves/.test(words) || (/^runner /.test(words) && !all) ? 'warn' : 'bad'
    return { id: `problem ${words}`, severity, words, ...(runbook ? { runbook } : {}), command: 'foldgate status' }
  })
  const unreached = status.runners.flatMap(({ name, available, processes }) =>
    available ? processes.filter(({ reachable }) => !reachable).map((process) => ({ name, ...process })) : [],
  )
  for (const { name, address, why } of unreached)
    found.push({
      id: `process ${name} ${address}`,
      severity: 'warn',
      words: `a process of runner ${name} is not reached: ${address}${why === undefined ? '' : `, ${why}`}`,
      runbook: 'runner-unavailable',
      command: 'foldgate status -o wide',
    })
  const { freeze } = status.switches
  if (freeze)
    found.push({
      id: 'frozen',
      severity: 'info',
      words: `nothing moves forward, frozen by ${freeze.actor}: ${freeze.reason}`,
      command: 'foldgate freeze --off --reason "…"',
    })
  if (status.state === 'draining')
    found.unshift({ id: 'draining', severity: 'warn', words: 'this replica is leaving: it takes no new calls' })
  return found
}

function away({ replicas }: FindingSource): Finding[] {
  if (!replicas || replicas.away.length === 0) return []
  const words = `${count(replicas.away.length, 'replica')} of ${replicas.of} not agreeing or not heard of: ${replicas.away.join(', ')}`
  return [{ id: 'replicas', severity: 'bad', words, runbook: 'replicas-disagree', command: 'foldgate status' }]
}

/** Layers that were taken back. */
function taken({ layers }: FindingSource): Finding[] {
  return layers
    .filter(({ on, stage }) => on && stage === 'rolled-back')
    .map(({ name, moved }) => ({
      id: `back ${name}`,
      severity: 'warn' as const,
      words: `${name} is rolled back${moved ? `, by ${moved.actor}: ${moved.reason}` : ''}`,
      runbook: 'layer-rolled-back',
      command: `foldgate explain ${name}`,
      layer: name,
    }))
}

function fallbacks({ load }: FindingSource): Finding[] {
  return load.fallbacks.map(({ layer, count: times, reason }) => ({
    id: `fallback ${layer}`,
    severity: 'warn' as const,
    words: `${layer} fell back to the gateway for ${count(times, 'call')} in ${load.now.minutes} minutes, the last for ${reason}`,
    runbook: 'layer-falling-back',
    command: `foldgate explain ${layer}`,
    layer,
  }))
}

function different({ differences }: FindingSource): Finding[] {
  return differences
    .filter(({ hard }) => hard > 0)
    .map(({ layer, hard, compared, worst }) => ({
      id: `differs ${layer}`,
      severity: 'warn' as const,
      words: `the two halves of ${layer} differ in ${hard} of ${count(compared, 'comparison')}${worst === null ? '' : `, most often in ${worst}`}`,
      runbook: 'shadow-differences',
      command: `foldgate diff ${layer}`,
      layer,
    }))
}

/** Layers that stay where they are without a verdict, and why. */
function undecided({ judged, layers }: FindingSource): Finding[] {
  const held = layers.filter(({ on, held: is }) => on && is)
  const stuck = judged
    .filter(({ verdict, layer }) => verdict === 'inconclusive' && !held.some(({ name }) => name === layer))
    .map(({ layer, why }): Finding => {
      const blind = /^blind|no data/.test(why)
      return {
        id: `stuck ${layer}`,
        severity: 'warn',
        words: blind ? `the evidence on ${layer} is blind: ${why}` : `${layer} goes no further: ${why}`,
        runbook: blind ? 'evidence-dropped' : 'rollout-stuck',
        command: `foldgate evidence ${layer}`,
        layer,
      }
    })
  return [
    ...stuck,
    ...held.map(({ name, moved }) => ({
      id: `held ${name}`,
      severity: 'info' as const,
      words: `${name} is on hold${moved ? `, by ${moved.actor}: ${moved.reason}` : ''}`,
      command: `foldgate resume ${name} --reason "…"`,
      layer: name,
    })),
  ]
}

const dayMs = 86_400_000

/** Who still asks for headers that go away. */
function still({ consumers: { consumers }, now }: FindingSource): Finding[] {
  const late = consumers.filter(({ tier, lastSeen }) => tier !== 'current' && now - lastSeen < dayMs)
  const [last] = late
  if (!last) return []
  const gone = late.some(({ tier }) => tier === 'gone' || tier === 'last')
  const words = `${count(late.length, 'caller')} asked for the old per-layer headers within a day, last ${last.tenant} with ${last.agent}`
  return [{ id: 'sunset', severity: gone ? 'warn' : 'info', words, command: 'foldgate doctor' }]
}
