import { dashboardFrom, layerVariable } from './dashboard.ts'
import { graph, stat, table } from './panel.ts'
import { quantile, rate, select, selectProcess, share } from './series.ts'
import { upWords } from './stages.ts'

const ofLayer = 'layer=~"$layer"'
const pressure = ['pressure'] as const

const versions = [
  table({
    title: 'What runs',
    description: 'Version, commit and Node of every replica.',
    unit: 'short',
    queries: select('build_info'),
    hides: ['Value', '__name__', 'job', 'namespace'],
  }),
  table(
    {
      title: 'What it stands on',
      description: 'Store: 1 while it answers. Configuration: 1 when the last one that was read is the one that runs.',
      unit: 'short',
      queries: {
        store: `min by (instance) (${select('store_up')})`,
        configuration: `min by (instance) (${select('config_last_reload_success')})`,
      },
      width: 8,
      runbooks: ['store-down', 'config-reload-refused'],
    },
    upWords,
  ),
  stat({
    title: 'Running for',
    description: 'Seconds since the youngest replica started.',
    unit: 's',
    queries: `min(time() - ${selectProcess('process_start_time_seconds')})`,
    height: 8,
    runbooks: ['gateway-down'],
  }),
]

const work = [
  graph({
    title: 'Calls under way',
    description: 'On each replica. It grows without bound where answers come slower than calls.',
    unit: 'short',
    queries: { '{{instance}}': select('inflight_requests') },
    width: 8,
    runbooks: pressure,
  }),
  graph({
    title: 'Event loop lag',
    description: 'How late timers are. Above 200 ms a replica has more work than one core can do.',
    unit: 's',
    queries: {
      'p50 {{instance}}': selectProcess('nodejs_eventloop_lag_p50_seconds'),
      'p99 {{instance}}': selectProcess('nodejs_eventloop_lag_p99_seconds'),
    },
    alarms: 0.2,
    width: 8,
    runbooks: pressure,
  }),
  graph({
    title: 'Processor',
    description: 'Cores in use; a gateway uses little more than one.',
    unit: 'short',
    queries: {
      '{{instance}}': `rate(${selectProcess('process_cpu_seconds_total')}[$__rate_interval])`,
    },
    width: 8,
    runbooks: pressure,
  }),
  graph({
    title: 'Memory',
    description: 'Resident, the heap that is in use, and what is held outside it (bodies).',
    unit: 'bytes',
    queries: {
      'resident {{instance}}': selectProcess('process_resident_memory_bytes'),
      'heap {{instance}}': selectProcess('nodejs_heap_size_used_bytes'),
      'external {{instance}}': selectProcess('nodejs_external_memory_bytes'),
    },
    width: 8,
    runbooks: pressure,
  }),
  graph({
    title: 'Garbage collection',
    description: 'Share of time that a replica collects, by kind.',
    unit: 'percentunit',
    queries: {
      '{{kind}}': `sum by (kind) (rate(${selectProcess('nodejs_gc_duration_seconds_sum')}[$__rate_interval]))`,
    },
    width: 8,
    runbooks: pressure,
  }),
  graph({
    title: 'Open files',
    description: 'Connections, mostly.',
    unit: 'short',
    queries: { '{{instance}}': selectProcess('process_open_fds') },
    width: 8,
  }),
]

const time = [
  graph({
    title: 'Overhead by route, p95',
    description: 'What the gateway itself adds before the first byte.',
    unit: 's',
    queries: { '{{route}}': quantile(0.95, 'overhead_seconds', { by: 'route' }) },
    exemplars: true,
    alarms: 0.05,
    runbooks: ['latency-high'],
  }),
  graph({
    title: 'Layers, p95',
    description: 'What each layer takes in the gateway on the way in (request) and on the way back (response).',
    unit: 's',
    queries: {
      '{{layer}} {{phase}}': quantile(0.95, 'layer_duration_seconds', { where: ofLayer, by: 'layer, phase' }),
    },
    runbooks: ['latency-high'],
  }),
  graph({
    title: 'Time in layers',
    description: 'Seconds of work a second, by layer: what would be saved if it moved.',
    unit: 'short',
    queries: { '{{layer}}': rate('layer_duration_seconds_sum', { where: ofLayer, by: 'layer' }) },
    stacked: true,
  }),
  graph({
    title: 'Parts of streams, p50 and p95',
    description:
      'Bytes written to callers at a time. Single tokens (under 128) cost more packets; above 2,048 words come in gusts.',
    unit: 'bytes',
    queries: { p50: quantile(0.5, 'stream_flush_bytes'), p95: quantile(0.95, 'stream_flush_bytes') },
  }),
]

const layers = [
  graph({
    title: 'What layers count',
    description: 'Events of the layers, such as a call over its limit or an answer that was redacted.',
    unit: 'ops',
    queries: { '{{layer}} {{event}}': rate('layer_events_total', { where: ofLayer, by: 'layer, event' }) },
    runbooks: ['keys-not-fetched', 'store-down'],
  }),
  graph({
    title: 'Response cache: hits',
    description: 'Share of calls that could be answered from the cache and were; calls that bypass it do not count.',
    unit: 'percentunit',
    queries: {
      hits: share(
        rate('layer_events_total', { where: 'layer="cache",event="hit"' }),
        rate('layer_events_total', { where: 'layer="cache",event=~"hit|miss"' }),
      ),
    },
    max: 1,
  }),
  graph({
    title: 'Answers by who made them',
    description: 'gateway: refusals and stored answers; shed: turned away for want of room.',
    unit: 'reqps',
    queries: { '{{route}} {{source}}': rate('requests_total', { by: 'route, source' }) },
    stacked: true,
  }),
  graph({
    title: 'Telemetry given up',
    description:
      'Spans and log lines that were dropped instead of slowing a call. While there are any, no rollout goes on.',
    unit: 'ops',
    queries: { '{{signal}}': rate('telemetry_dropped_total', { by: 'signal' }) },
    warns: 0.001,
    runbooks: ['evidence-dropped'],
  }),
]

/** The process itself: event loop, memory, layers, streams, telemetry. */
export const gatewayInternals = dashboardFrom({
  uid: 'foldgate-gateway-internals',
  title: 'Gateway internals',
  description: 'The process itself: what it stands on, its event loop, memory, layers and streams.',
  variables: [layerVariable],
  rows: [
    { title: 'What runs', panels: versions },
    { title: 'Work', panels: work },
    { title: 'Time', panels: time },
    { title: 'Layers', panels: layers },
  ],
})
