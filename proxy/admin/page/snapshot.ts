import { isMoving, type Stage, sayStage } from '../../../plugins/stage.ts'
import type { LayerView } from '../layer-view.ts'
import type { Operations, StatusView } from '../operations.ts'
import type { RunnerView } from '../runner-view.ts'
import type { ChangeView } from '../stage-view.ts'
import { pageChangesFrom } from './changes.ts'
import { type Difference, findingsFrom } from './findings.ts'
import { pageJudgedFrom } from './judged.ts'
import type { PageGateway, PageJudged, PageLayer, PageRunner, PageSnapshot } from './page-snapshot.ts'

/** What is known beside the operations. */
export interface SnapshotContext {
  /** Milliseconds since the epoch. */
  readonly now: number
  /** The latest changes of stages, latest last. */
  readonly history: readonly ChangeView[]
  /** Names of the runbooks that this gateway has with it. */
  readonly runbooks: readonly string[]
}

/** What the operations are asked for. */
export type Shown = Pick<
  Operations,
  'status' | 'config' | 'recent' | 'replicas' | 'evidence' | 'analysis' | 'diffs' | 'consumers'
>

/** What of a configuration the page reads. */
interface ShownConfig {
  readonly folding?: { readonly policy?: { readonly stages?: readonly number[]; readonly autopilot?: boolean } }
  readonly telemetry?: { readonly traceStore?: { readonly kind?: string; readonly url?: string | null } }
}

/** Everything that the page shows, from what the operations say now. Changes nothing. */
export function pageSnapshotFrom(operations: Shown, context: SnapshotContext): PageSnapshot {
  const { now, history, runbooks } = context
  const config = operations.config().config as ShownConfig
  const shares = config.folding?.policy?.stages ?? [1, 10, 50, 100]
  const status = operations.status()
  const load = operations.recent()
  const layers = status.layers.map((layer) => pageLayerFrom(layer, shares, history))
  const moving = layers.filter(({ on, stage }) => on && isMoving({ stage }))
  const judged = moving.map((layer) => judgedOf(layer, operations, { now, config }))
  const replicas = operations.replicas() ?? null
  const differences = differencesOf(moving, operations)
  const consumers = operations.consumers()
  return {
    at: now,
    gateway: pageGatewayFrom(status),
    load,
    findings: findingsFrom({ now, status, load, layers, judged, replicas, differences, consumers }),
    stops: ['gateway', 'shadow', ...shares.map((share) => `${share} %`), 'native'],
    layers,
    judged,
    changes: pageChangesFrom(history, status),
    replicas,
    links: { runbooks, trace: traceLink(config) },
  }
}

function pageGatewayFrom({ version, state, startedAt, inFlight, config, store, runners }: StatusView): PageGateway {
  return { version, state, startedAt, inFlight, config: config.slice(0, 12), store, runners: runners.map(runnerFrom) }
}

function runnerFrom({ name, kind, available, processes }: RunnerView): PageRunner {
  const reached = processes.filter(({ reachable }) => reachable).length
  return { name, kind, available, reached, processes: processes.length }
}

const does: Readonly<Record<string, string>> = {
  auth: 'who is calling',
  'rate-limit': 'how much they may',
  cache: 'answered before?',
  routing: 'which model, where',
  prompt: 'what it is told first',
  postprocess: 'what may leave',
}

function pageLayerFrom(view: LayerView, shares: readonly number[], history: readonly ChangeView[]): PageLayer {
  const { name, on, stage, weight, held, where, stays, processes } = view
  const last = history.findLast(({ layer }) => layer === name)
  return {
    ...{ name, on, stage, held, where },
    does: does[name] ?? '',
    said: sayStage({ stage, weight }),
    stop: stopOf(stage, weight, shares),
    moved: last ? { at: last.at, actor: last.actor, reason: last.reason } : null,
    able: processes.filter(({ able }) => able).length,
    processes: processes.length,
    stays: stays ?? null,
  }
}

function stopOf(stage: Stage, weight: number, shares: readonly number[]): number {
  if (stage === 'shadow') return 1
  if (stage === 'native') return shares.length + 2
  if (stage !== 'canary') return 0
  const step = shares.findIndex((share) => share >= weight)
  return 2 + (step < 0 ? shares.length - 1 : step)
}

interface JudgedContext {
  readonly now: number
  readonly config: ShownConfig
}

function judgedOf({ name, said }: PageLayer, operations: Shown, { now, config }: JudgedContext): PageJudged {
  return pageJudgedFrom({
    ...{ layer: name, said, now },
    record: operations.evidence().layers[name],
    analysis: operations.analysis(name, 0),
    autopilot: config.folding?.policy?.autopilot ?? false,
  })
}

function differencesOf(moving: readonly PageLayer[], operations: Shown): Difference[] {
  if (moving.length === 0) return []
  const { layers } = operations.diffs()
  return moving.flatMap(({ name, said }) => {
    const book = layers[name]
    // A page of the book is begun by the first comparison of a stage; until then it is about the one before.
    if (!book || book.stage !== said) return []
    const { equal, differs, ignored } = book.total
    const [worst] = book.signatures
    return [
      { layer: name, hard: book.hard, compared: equal + differs + ignored, worst: worst?.path ?? worst?.kind ?? null },
    ]
  })
}

/** Jaeger's own pages lie beside its API; what shows traces of a Tempo is somewhere else. */
function traceLink({ telemetry }: ShownConfig): string | null {
  const { kind, url } = telemetry?.traceStore ?? {}
  if (!url || !kind?.startsWith('jaeger')) return null
  const { protocol, host, pathname } = new URL(url)
  return `${protocol}//${host}${pathname.replace(/\/$/, '')}/trace/`
}
