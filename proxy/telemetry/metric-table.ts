/** One metric as it is documented and exported; its full name is `foldgate_` and its key in {@link metricTable}. */
export interface MetricEntry {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labels: readonly string[]
  /** Upper bounds of a histogram's buckets, rising, without +Inf. */
  readonly buckets?: readonly number[]
}

const counter = (help: string, labels: readonly string[] = []): MetricEntry => ({ type: 'counter', help, labels })
const gauge = (help: string, labels: readonly string[] = []): MetricEntry => ({ type: 'gauge', help, labels })
const histogram = (help: string, labels: readonly string[], buckets: readonly number[]) => ({
  type: 'histogram' as const,
  help,
  labels,
  buckets,
})

// The GenAI conventions' boundaries, continued for long streams.
const callSeconds = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 160, 320, 640,
]
const overheadSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1]
// vLLM's boundaries, so that a panel can subtract the runner's from ours.
const firstTokenSeconds = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560,
]
// From one event of a stream to what a socket takes at a time.
const flushBytes = [32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384, 65_536]
const layerSeconds = [0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.01, 0.05, 0.25, 1, 5]

/** Every metric of the gateway, by name without the prefix. There are no others but those of the process (`process_*`, `nodejs_*`). */
export const metricTable = {
  requests_total: counter('Calls that ended, by route, HTTP status and who produced the answer.', [
    'route',
    'code',
    'source',
  ]),
  request_duration_seconds: histogram(
    'Seconds from the head of a request to the last byte of its answer.',
    ['route', 'arm'],
    callSeconds,
  ),
  overhead_seconds: histogram(
    'Seconds the gateway itself added to a call, up to the first byte of a stream.',
    ['route'],
    overheadSeconds,
  ),
  time_to_first_token_seconds: histogram(
    'Seconds from the head of a request to the first token of a stream.',
    ['arm'],
    firstTokenSeconds,
  ),
  first_byte_seconds: histogram(
    'Seconds from the head of a request to the first byte of a good answer, by what caches did: the answer was stored (answer), the runner had a part of the prompt in its KV cache (prefix), or none of it; unknown: the runner does not say.',
    ['cache'],
    firstTokenSeconds,
  ),
  stream_flush_bytes: histogram('Bytes of each part of a stream as it was written to a caller.', [], flushBytes),
  layer_duration_seconds: histogram(
    'Seconds a layer took in the gateway, on the way in (request), on the way back (response) or over a whole stream (stream).',
    ['layer', 'phase'],
    layerSeconds,
  ),
  layer_status_total: counter('Layers of calls that ended, by the status printed and who executed the layer.', [
    'layer',
    'status',
    'by',
  ]),
  layer_stage: gauge('Stage of a layer: -1 rolled back, 0 gateway, 1 shadow, 2 to 5 canary, 6 native.', ['layer']),
  layer_weight_ratio: gauge('Share of its units that the runner decides for a layer, 0 to 1.', ['layer']),
  fallbacks_total: counter(
    'Layers of calls that fell back to the gateway, by reason; layers taken along count with the reason.',
    ['layer', 'reason'],
  ),
  unacknowledged_total: counter('Streams that ended without the final word of a layer at the runner.', ['layer']),
  missing_header_total: counter('Headers that were expected and not there, by where they were missed.', [
    'header',
    'where',
  ]),
  policy_compile_total: counter('Steps of policies that runners compiled, by result.', ['result']),
  shadow_comparisons_total: counter(
    'Comparisons of the two halves of a layer, and of whole answers (layer "answer"): equal, differs, ignored or skipped.',
    ['layer', 'verdict'],
  ),
  shadow_dropped_total: counter(
    'Comparisons, copies and questions to a runner that were given up instead of slowing a call, by reason.',
    ['reason'],
  ),
  canary_decisions_total: counter('Decisions over layers that move, each counted when it says something new.', [
    'layer',
    'decision',
  ]),
  canary_samples: gauge(
    'Calls of the present step that decisions over a moving layer rest on, of all replicas, by arm.',
    ['layer', 'arm'],
  ),
  canary_evidence_age_seconds: gauge(
    'At most how long ago the newest of these calls began; 0 or more, and missing while there is none.',
    ['layer'],
  ),
  rollback_duration_seconds: histogram(
    'Seconds from the word to take a layer back until no call here is given to the runner for it.',
    ['layer'],
    [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10],
  ),
  rollbacks_total: counter('Layers that were taken back, by who did it.', ['layer', 'cause']),
  promotions_total: counter('Layers that went a step further.', ['layer']),
  frozen: gauge('1 while nothing moves forward, because a person said so.'),
  unstreamed: gauge('1 while streams are made from whole answers, because a person said so.'),
  behaviour_drift_index: gauge(
    'How much less like the served answer the new path is than the old path repeated, 0 to 1, over about 50 copied calls.',
    ['runner', 'model'],
  ),
  layer_events_total: counter('What layers count, by layer and event.', ['layer', 'event']),
  runner_available: gauge('1 while a runner takes calls, 0 while it is ejected.', ['runner']),
  attempts_total: counter(
    'Tries at a runner that ended, by outcome: ok, refused (4xx), failed (5xx, broken off, not reached), left (the caller went away).',
    ['runner', 'outcome'],
  ),
  attempt_duration_seconds: histogram(
    'Seconds from asking a runner to the end of its answer.',
    ['runner'],
    callSeconds,
  ),
  attempt_time_to_first_token_seconds: histogram(
    'Seconds from asking a runner to the first byte of its stream on the way to the caller.',
    ['runner'],
    firstTokenSeconds,
  ),
  attempt_tokens_total: counter(
    'Tokens of calls that a runner answered, as it counted them; cached: input tokens that it had in its KV cache.',
    ['runner', 'kind'],
  ),
  kv_cache_hit_ratio: gauge(
    'Share of input tokens that a runner had in its KV cache, 0 to 1, over about its last 50 calls; from what it says of each call.',
    ['runner'],
  ),
  tool_call_seconds: histogram(
    'Seconds from asking a runner to the first tool call of its stream.',
    ['runner'],
    callSeconds,
  ),
  tool_call_squared_seconds_total: counter(
    'Sum of the squares of tool_call_seconds, for its standard deviation over any time.',
    ['runner'],
  ),
  tokens_total: counter(
    'Tokens of calls that ended, as runners counted them; estimated: counted by the gateway where a runner did not say.',
    ['kind'],
  ),
  inflight_requests: gauge('Calls under way.'),
  store_up: gauge('1 while the store answers.'),
  config_last_reload_success: gauge('1 when the last configuration that was read is the one that runs.'),
  config_reloads_total: counter('Configurations that were read, the first one at the start, by what became of them.', [
    'result',
  ]),
  telemetry_dropped_total: counter('Spans and log lines that were given up instead of slowing a call.', ['signal']),
  build_info: gauge('1; what runs.', ['version', 'node_version', 'commit']),
} as const satisfies Record<string, MetricEntry>

/** The name of a metric without its prefix. */
export type MetricName = keyof typeof metricTable
