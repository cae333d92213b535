import type { CallStory } from './admin/stories.ts'
import type { CallRecord } from './call-record.ts'
import type { Caller } from './caller.ts'
import type { AccessLine } from './telemetry/log.ts'

/** What a call's record leaves behind for `explain`: what happened, and nothing that was said. */
export function storyFromRecord(
  caller: Caller,
  record: CallRecord,
  ended: { route: string; status: number },
): CallStory {
  const { startedAt, source, error, firstByteMs, runnerMs, usage, layers, call } = record
  const tenant = call?.facts.principal?.tenant
  return {
    id: caller.id,
    requestId: caller.requestId,
    at: startedAt,
    ...ended,
    source,
    ...(tenant === undefined ? {} : { tenant }),
    ...(error ? { error: error.code } : {}),
    totalMs: record.elapsedMs(),
    ...(firstByteMs === undefined ? {} : { firstByteMs }),
    ...(runnerMs > 0 ? { runnerMs } : {}),
    ...(usage ? { tokens: { input: usage.prompt_tokens ?? 0, output: usage.completion_tokens ?? 0 } } : {}),
    layers,
    attempts: record.attempts.map(({ target, ...attempt }) => ({ ...target, ...attempt })),
  }
}

/** A call's story as the line of the access log. */
export function accessLineFromStory(story: CallStory, method: string): AccessLine {
  const last = story.attempts.at(-1)
  return {
    id: story.requestId,
    method,
    route: story.route,
    status: story.status,
    source: story.source === 'runner' ? 'runner' : 'gateway',
    ms: story.totalMs,
    ttftMs: story.firstByteMs,
    error: story.error,
    runner: last?.runner,
    model: last?.model || undefined,
    tenant: story.tenant,
    attempts: story.attempts.length,
    inputTokens: story.tokens?.input,
    outputTokens: story.tokens?.output,
  }
}
