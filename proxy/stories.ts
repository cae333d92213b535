import type { Principal } from '../plugins/call.ts'
import { layers as allLayers } from '../plugins/index.ts'
import type { CallStory, FoldedLayerPart, FoldPart } from './admin/stories.ts'
import type { CallRecord } from './call-record.ts'
import type { Caller } from './caller.ts'
import type { CallFold } from './folding/call-fold.ts'
import type { AccessLine } from './telemetry/log.ts'
import type { SeenCall } from './telemetry/recent-view.ts'

/** A call that is over, as it is remembered: its record, without anything that was said in it. The story is told when somebody asks. */
export interface PastCall {
  readonly id: string
  readonly requestId: string
  readonly record: CallRecord
  readonly route: string
  readonly status: number
  readonly totalMs: number
  readonly tenant: string | undefined
  /** Who made it: only they may say what they think of it. */
  readonly who: string | undefined
  /** How it was split with the runner. */
  readonly fold: PastFold | undefined
  /** What the caller thought of the answer, −1 to 1, where it said. */
  feedback: number | undefined
}

/** What of a split outlives its call: nothing that the caller said. */
type PastFold = Pick<CallFold, 'modes' | 'stages' | 'fallbacks' | 'unacknowledged' | 'sends' | 'reason' | 'said'>

function pastFoldFrom({ modes, stages, fallbacks, unacknowledged, sends, reason, said }: CallFold): PastFold {
  return { modes, stages, fallbacks, unacknowledged, sends, reason, said }
}

/** Keeps of a visit what `explain` may tell: the request and its body are let go, also as each folded layer saw them. */
export function pastCallFrom(caller: Caller, record: CallRecord, ended: { route: string; status: number }): PastCall {
  const tenant = record.call?.facts.principal?.tenant
  const who = whoCalled(record)
  const fold = record.fold && pastFoldFrom(record.fold)
  record.directiveFault ??= record.fold?.said?.acknowledgement.runner.dir
  record.call = undefined
  record.fold = undefined
  return {
    id: caller.id,
    requestId: caller.requestId,
    record,
    route: ended.route,
    status: ended.status,
    totalMs: record.elapsedMs(),
    tenant,
    who,
    fold,
    feedback: undefined,
  }
}

/** Who made a call: the principal, whichever side found out; undefined where nobody tells callers apart. */
export function whoCalled({ call, fold }: Pick<CallRecord, 'call' | 'fold'>): string | undefined {
  const principal = call?.facts.principal
  if (principal) return whoIs(principal)
  const { sub, ten } = fold?.said?.acknowledgement.layers['auth'] ?? {}
  return sub === undefined || ten === undefined ? undefined : whoIs({ id: sub, tenant: ten })
}

/** A principal as past calls name it. */
export function whoIs({ tenant, id }: Pick<Principal, 'tenant' | 'id'>): string {
  return JSON.stringify([tenant, id])
}

/** The story of a past call. */
export function storyFromPastCall({ record, tenant, who: _, fold, feedback, ...past }: PastCall): CallStory {
  const { startedAt, source, error, firstByteMs, runnerMs, usage, layers, directiveFault } = record
  return {
    ...past,
    at: startedAt,
    source,
    ...(tenant === undefined ? {} : { tenant }),
    ...(error ? { error: error.code } : {}),
    ...(directiveFault === undefined ? {} : { directiveFault }),
    ...(firstByteMs === undefined ? {} : { firstByteMs }),
    ...(runnerMs > 0 ? { runnerMs } : {}),
    ...(usage ? { tokens: { input: usage.prompt_tokens ?? 0, output: usage.completion_tokens ?? 0 } } : {}),
    ...(feedback === undefined ? {} : { feedback }),
    layers,
    ...(fold ? { fold: foldPartFrom(fold) } : {}),
    attempts: record.attempts.map(({ target, ...attempt }) => ({ ...target, ...attempt })),
  }
}

const layerNames: readonly string[] = allLayers.map(({ name }) => name)

/** What is told of how a call was split: what each layer was to do at the runner, and what the runner says it did. */
function foldPartFrom(fold: PastFold): FoldPart {
  const { runner } = fold.said?.acknowledgement ?? {}
  return {
    ...(runner?.boot === undefined ? {} : { boot: runner.boot }),
    ...(runner?.pol === undefined ? {} : { policy: runner.pol }),
    sends: fold.sends,
    ...(fold.reason === undefined ? {} : { reason: fold.reason }),
    layers: layerNames.map((name) => foldedLayerFrom(name, fold)).filter((part) => Object.keys(part).length > 1),
  }
}

function foldedLayerFrom(name: string, { stages, modes, fallbacks, said, unacknowledged }: PastFold): FoldedLayerPart {
  const [stage, mode, fallback] = [stages.get(name), modes.get(name), fallbacks.get(name)]
  const { o, code, d, e } = said?.acknowledgement.layers[name] ?? {}
  return {
    name,
    ...(stage === undefined ? {} : { stage }),
    ...(mode === undefined ? {} : { mode }),
    ...(o === undefined ? {} : { outcome: o }),
    ...(code === undefined ? {} : { code }),
    ...(d === undefined ? {} : { us: d }),
    ...(e === undefined ? {} : { essence: e }),
    ...(fallback === undefined ? {} : { fallback }),
    ...(unacknowledged.includes(name) ? { unacknowledged: true } : {}),
  }
}

/** What of a past call the last hour keeps, should it be worth a look. */
export function seenCallFrom({ requestId, route, status, totalMs, record }: PastCall): SeenCall {
  const { startedAt, span, error, firstByteMs } = record
  return {
    ...{ at: startedAt, requestId, traceId: span.traceId, route, code: status, error: error?.code },
    ms: firstByteMs ?? totalMs,
  }
}

/** A past call as the line of the access log. */
export function accessLineFrom({ record, ...past }: PastCall, method: string): AccessLine {
  const last = record.attempts.at(-1)
  return {
    id: past.requestId,
    method,
    route: past.route,
    status: past.status,
    source: record.source === 'runner' ? 'runner' : 'gateway',
    ms: past.totalMs,
    ttftMs: record.firstByteMs,
    error: record.error?.code,
    runner: last?.target.runner,
    model: last?.target.model || undefined,
    tenant: past.tenant,
    attempts: record.attempts.length,
    inputTokens: record.usage?.prompt_tokens,
    outputTokens: record.usage?.completion_tokens,
  }
}
