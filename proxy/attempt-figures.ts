import type { AttemptRecord, CallRecord } from './call-record.ts'
import type { CacheState, RunnerOutcome } from './telemetry/metric-values.ts'
import type { RunnerTry } from './telemetry/runner-meters.ts'

/** Every try at a runner that a call made, as it is measured. What was said of the answer belongs to the last one. */
export function triesOf(record: CallRecord): RunnerTry[] {
  const { attempts, source, firstByteMs, streamed, toolCallMs, usage } = record
  return attempts.map((attempt, index): RunnerTry => {
    const answered = index === attempts.length - 1 && source === 'runner'
    const end = attempt.endMs ?? record.elapsedMs()
    return {
      runner: attempt.target.runner,
      outcome: outcomeOf(attempt),
      seconds: (end - attempt.startMs) / 1000,
      ...(answered && streamed ? { ttftSeconds: since(attempt, firstByteMs) } : {}),
      ...(answered ? { toolCallSeconds: since(attempt, toolCallMs) } : {}),
      ...(answered && usage ? { tokens: tokensOf(usage) } : {}),
    }
  })
}

function since({ startMs }: AttemptRecord, atMs: number | undefined): number | undefined {
  return atMs === undefined ? undefined : Math.max(0, atMs - startMs) / 1000
}

function tokensOf({ prompt_tokens, completion_tokens, prompt_tokens_details }: NonNullable<CallRecord['usage']>) {
  const cached = prompt_tokens_details?.cached_tokens
  return {
    input: prompt_tokens ?? 0,
    output: completion_tokens ?? 0,
    ...(typeof cached === 'number' ? { cached } : {}),
  }
}

function outcomeOf({ status, error, endMs }: AttemptRecord): RunnerOutcome {
  if (error === 'client_closed' || endMs === undefined) return 'left'
  if (error !== undefined || status === undefined || status >= 500) return 'failed'
  return status >= 400 ? 'refused' : 'ok'
}

/** What caches did for a call: the whole answer was stored, the runner had a part of the prompt in its KV cache, or none of it. */
export function cacheStateOf({ source, usage }: CallRecord): CacheState {
  if (source === 'cache') return 'answer'
  const cached = usage?.prompt_tokens_details?.cached_tokens
  if (typeof cached !== 'number') return 'unknown'
  return cached > 0 ? 'prefix' : 'none'
}
