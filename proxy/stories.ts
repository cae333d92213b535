import type { CallStory } from './admin/stories.ts'
import type { CallRecord } from './call-record.ts'
import type { Caller } from './caller.ts'
import type { AccessLine } from './telemetry/log.ts'

/** A call that is over, as it is remembered: its record, without anything that was said in it. The story is told when somebody asks. */
export interface PastCall {
  readonly id: string
  readonly requestId: string
  readonly record: CallRecord
  readonly route: string
  readonly status: number
  readonly totalMs: number
  readonly tenant: string | undefined
  /** What the caller thought of the answer, −1 to 1, where it said. */
  feedback: number | undefined
}

/** Keeps of a visit what `explain` may tell: the request and its body are let go. */
export function pastCallFrom(caller: Caller, record: CallRecord, ended: { route: string; status: number }): PastCall {
  const tenant = record.call?.facts.principal?.tenant
  record.call = undefined
  return {
    id: caller.id,
    requestId: caller.requestId,
    record,
    route: ended.route,
    status: ended.status,
    totalMs: record.elapsedMs(),
    tenant,
    feedback: undefined,
  }
}

/** The story of a past call. */
export function storyFromPastCall({ record, tenant, feedback, ...past }: PastCall): CallStory {
  const { startedAt, source, error, firstByteMs, runnerMs, usage, layers } = record
  return {
    ...past,
    at: startedAt,
    source,
    ...(tenant === undefined ? {} : { tenant }),
    ...(error ? { error: error.code } : {}),
    ...(firstByteMs === undefined ? {} : { firstByteMs }),
    ...(runnerMs > 0 ? { runnerMs } : {}),
    ...(usage ? { tokens: { input: usage.prompt_tokens ?? 0, output: usage.completion_tokens ?? 0 } } : {}),
    ...(feedback === undefined ? {} : { feedback }),
    layers,
    attempts: record.attempts.map(({ target, ...attempt }) => ({ ...target, ...attempt })),
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
