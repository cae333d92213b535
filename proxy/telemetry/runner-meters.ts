import { metricTable } from './metric-table.ts'
import { labelValues, type RunnerOutcome, type TokenKind } from './metric-values.ts'
import { createCounters, createHistograms, listed, type Sample } from './series.ts'

/** One try at a runner that is over. */
export interface RunnerTry {
  /** As the configuration names it. */
  readonly runner: string
  readonly outcome: RunnerOutcome
  /** Until its answer had ended. */
  readonly seconds: number
  /** Until the first byte of a stream left for the caller. */
  readonly ttftSeconds?: number | undefined
  /** Until a stream called its first tool. */
  readonly toolCallSeconds?: number | undefined
  /** As the runner counted them; `cached` is absent where it does not say. */
  readonly tokens?: Readonly<Partial<Record<TokenKind, number>>> | undefined
}

/** What is counted of each runner, and how it is read. A runner has series from its first call on; names come from the configuration. */
export function createRunnerMeters() {
  const runners = new Map<string, RunnerMeter>()
  const of = (runner: string): RunnerMeter => {
    const known = runners.get(runner) ?? createRunnerMeter()
    runners.set(runner, known)
    return known
  }
  const read = (what: keyof RunnerMeter['read']) => () =>
    [...runners].flatMap(([runner, meter]) =>
      meter.read[what]().map((sample): Sample => ({ ...sample, labels: { runner, ...sample.labels } })),
    )
  return {
    record: { tried: (tried: RunnerTry): void => of(tried.runner).tried(tried) },
    read: {
      attempts_total: read('calls'),
      attempt_duration_seconds: read('durations'),
      attempt_time_to_first_token_seconds: read('firstTokens'),
      attempt_tokens_total: read('tokens'),
      tool_call_seconds: read('toolCalls'),
      tool_call_squared_seconds_total: read('toolSquares'),
      kv_cache_hit_ratio: read('kvCache'),
    },
  }
}

type RunnerMeter = ReturnType<typeof createRunnerMeter>

function createRunnerMeter() {
  const [outcome, kind] = [listed('outcome', labelValues.outcome), listed('kind', labelValues.kind)]
  const calls = createCounters([outcome], labelValues.outcome.keys())
  const durations = createHistograms([], metricTable.attempt_duration_seconds.buckets)
  const firstTokens = createHistograms([], metricTable.attempt_time_to_first_token_seconds.buckets)
  const toolCalls = createHistograms([], metricTable.tool_call_seconds.buckets)
  const toolSquares = createCounters([])
  const tokens = createCounters([kind])
  const kvCache = createHitRatio()
  return {
    tried({ outcome: how, seconds, ttftSeconds, toolCallSeconds, tokens: used }: RunnerTry): void {
      calls.add(outcome.at(how), 1)
      durations.observe(0, seconds)
      if (ttftSeconds !== undefined) firstTokens.observe(0, ttftSeconds)
      if (toolCallSeconds !== undefined) {
        toolCalls.observe(0, toolCallSeconds)
        toolSquares.add(0, toolCallSeconds ** 2)
      }
      if (!used) return
      for (const each of Object.keys(used) as TokenKind[]) tokens.add(kind.at(each), used[each] ?? 0)
      if (used.cached !== undefined) kvCache.add(used.cached, used.input ?? 0)
    },
    read: {
      calls: calls.samples,
      durations: durations.samples,
      firstTokens: firstTokens.samples,
      toolCalls: toolCalls.samples,
      toolSquares: toolSquares.samples,
      tokens: tokens.samples,
      kvCache: kvCache.samples,
    },
  }
}

// What is left of the weight of a call after each that follows it: about the last fifty count.
const keep = 1 - 1 / 50

/** The cached share of prompt tokens over about the last fifty calls; nothing is exported before one has told. */
function createHitRatio() {
  let [cached, prompt] = [0, 0]
  return {
    add(hits: number, tokens: number): void {
      if (!(tokens > 0)) return
      cached = cached * keep + Math.min(hits, tokens)
      prompt = prompt * keep + tokens
    },
    samples: (): Sample[] => (prompt > 0 ? [{ labels: {}, value: cached / prompt }] : []),
  }
}
