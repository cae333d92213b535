import { dashboardFrom, runnerVariables } from './dashboard.ts'
import { insideRunners } from './inside-runners.ts'
import { graph, stat, words } from './panel.ts'
import { quantile, rate, select, share } from './series.ts'

const ofRunner = 'runner=~"$runner"'
const toolsOver = { over: '5m', where: ofRunner, by: 'runner' } as const
const toolMean = `${rate('tool_call_seconds_sum', toolsOver)} / ${rate('tool_call_seconds_count', toolsOver)}`
const toolMeanSquare = `${rate('tool_call_squared_seconds_total', toolsOver)} / ${rate('tool_call_seconds_count', toolsOver)}`
const kvOver = (where: string): string => rate('attempt_tokens_total', { where: `${ofRunner},${where}`, by: 'runner' })

const calls = [
  graph({
    title: 'Calls by runner and outcome',
    description:
      'Tries at each runner. refused: it answered 4xx; failed: 5xx, broken off or not reached; left: the caller went away.',
    unit: 'reqps',
    queries: { '{{runner}} {{outcome}}': rate('attempts_total', { where: ofRunner, by: 'runner, outcome' }) },
    stacked: true,
    width: 8,
    runbooks: ['runner-unavailable'],
  }),
  graph({
    title: 'Failing share by runner',
    description: 'Tries that failed, of all but those whose caller left.',
    unit: 'percentunit',
    queries: {
      '{{runner}}': share(
        rate('attempts_total', { where: `${ofRunner},outcome="failed"`, by: 'runner' }),
        rate('attempts_total', { where: `${ofRunner},outcome!="left"`, by: 'runner' }),
      ),
    },
    max: 1,
    warns: 0.01,
    alarms: 0.05,
    width: 8,
    runbooks: ['runner-unavailable'],
  }),
  graph({
    title: 'Available',
    description: '1 while a runner takes calls; between 0 and 1 it is ejected on some replicas.',
    unit: 'short',
    queries: { '{{runner}}': `avg by (runner) (${select('runner_available', { where: ofRunner })})` },
    max: 1,
    width: 8,
    runbooks: ['runner-unavailable'],
  }),
  graph({
    title: 'Whole answers by runner',
    description: 'From asking a runner to the end of its answer.',
    unit: 's',
    queries: {
      'p50 {{runner}}': quantile(0.5, 'attempt_duration_seconds', { where: ofRunner, by: 'runner' }),
      'p95 {{runner}}': quantile(0.95, 'attempt_duration_seconds', { where: ofRunner, by: 'runner' }),
    },
    width: 8,
    runbooks: ['latency-high'],
  }),
  graph({
    title: 'First token by runner',
    description:
      'From asking a runner to the first byte on the way to the caller. The buckets are vLLM’s for vllm:time_to_first_token_seconds, so the two can be subtracted.',
    unit: 's',
    queries: {
      'p50 {{runner}}': quantile(0.5, 'attempt_time_to_first_token_seconds', { where: ofRunner, by: 'runner' }),
      'p95 {{runner}}': quantile(0.95, 'attempt_time_to_first_token_seconds', { where: ofRunner, by: 'runner' }),
    },
    width: 8,
    runbooks: ['latency-high'],
  }),
  graph({
    title: 'Tokens by runner',
    description:
      'Tokens a second, as the runner counted them; cached ones are input tokens that it had in its KV cache.',
    unit: 'short',
    queries: { '{{runner}} {{kind}}': rate('attempt_tokens_total', { where: ofRunner, by: 'runner, kind' }) },
    width: 8,
  }),
]

const behaviour = [
  graph({
    title: 'Behaviour drift',
    description:
      'How much less like the served answer the new path is than the old path repeated, over about 50 copied calls, by runner and model. The alert is at 0.35.',
    unit: 'short',
    queries: {
      '{{runner}} {{model}}': `max by (runner, model) (${select('behaviour_drift_index', { where: ofRunner })})`,
    },
    max: 1,
    warns: 0.2,
    alarms: 0.35,
    width: 8,
    runbooks: ['behaviour-drift'],
  }),
  graph({
    title: 'Tool calls: time until the first one',
    description: 'From asking a runner to the first tool call of its stream, where a layer reads the stream’s chunks.',
    unit: 's',
    queries: {
      'p50 {{runner}}': quantile(0.5, 'tool_call_seconds', { where: ofRunner, by: 'runner' }),
      'p95 {{runner}}': quantile(0.95, 'tool_call_seconds', { where: ofRunner, by: 'runner' }),
    },
    width: 8,
  }),
  graph({
    title: 'Tool calls: standard deviation over 5 minutes',
    description: 'How uneven that time is. Above 750 ms agents that wait for tools begin to stumble.',
    unit: 's',
    queries: { '{{runner}}': `sqrt(clamp_min(${toolMeanSquare} - (${toolMean}) ^ 2, 0))` },
    warns: 0.5,
    alarms: 0.75,
    width: 8,
    runbooks: ['tool-calls-uneven'],
  }),
]

const caches = [
  stat({
    title: 'KV cache hits',
    description: 'Share of input tokens that a runner had in its KV cache, over about its last 50 calls.',
    unit: 'percentunit',
    queries: { '{{runner}}': `avg by (runner) (${select('kv_cache_hit_ratio', { where: ofRunner })})` },
    warns: 0.92,
    alarms: 0.85,
    width: 6,
    height: 8,
  }),
  graph({
    title: 'KV cache hits by runner',
    description: 'Share of input tokens that were in the KV cache, over time; only runners that say so for a call.',
    unit: 'percentunit',
    queries: { '{{runner}}': share(kvOver('kind="cached"'), kvOver('kind="input"')) },
    max: 1,
    width: 9,
  }),
  graph({
    title: 'First byte by what caches did, p95',
    description:
      'answer: it was stored; prefix: a part of the prompt was in the KV cache; none: nothing was; unknown: the runner does not say.',
    unit: 's',
    queries: { '{{cache}}': quantile(0.95, 'first_byte_seconds', { by: 'cache' }) },
    exemplars: true,
    width: 9,
  }),
  graph({
    title: 'Calls by what caches did',
    description: 'How many calls each of those lines stands for.',
    unit: 'reqps',
    queries: { '{{cache}}': rate('first_byte_seconds_count', { by: 'cache' }) },
    stacked: true,
  }),
  graph({
    title: 'Stream buffer: bytes at a time',
    description: 'Bytes of each part of a stream as it was written to a caller.',
    unit: 'bytes',
    queries: { p50: quantile(0.5, 'stream_flush_bytes'), p95: quantile(0.95, 'stream_flush_bytes') },
  }),
  words(
    'What to look at for which combination',
    [
      '| KV cache hits | first byte | bytes at a time | look at |',
      '|---|---|---|---|',
      '| high | fast | small | nothing: words come as they are made |',
      '| high | slow | any | the queue of the runner below (*Calls at the runner*), then the overhead of the gateway |',
      '| low since a stage change | slow | any | the prompt layer: its beginning differs per call, so no prefix is shared; affinity of routing |',
      '| low, runners differ | slow on one | any | affinity: conversations change runners (`x-conversation-id` gets lost, or shares were moved) |',
      '| low always | slow | any | long prompts that nobody repeats: nothing to gain here; room for the KV cache of the runner |',
      '| any | fast | large | an edge or a layer that holds the answer back (`buffered` in the layer status) |',
    ].join('\n'),
    7,
  ),
]

/** Every runner beside the others: speed, behaviour, caches. */
export const runnerSideBySide = dashboardFrom({
  uid: 'foldgate-runner-side-by-side',
  title: 'Runner side by side',
  description:
    'Every runner beside the others, as the gateway sees it and as native runners say themselves: speed, behaviour, caches.',
  variables: runnerVariables,
  rows: [
    { title: 'Speed', panels: calls },
    { title: 'Behaviour', panels: behaviour },
    { title: 'Caches and streams', panels: caches },
    { title: 'Inside native runners', panels: insideRunners },
  ],
})
