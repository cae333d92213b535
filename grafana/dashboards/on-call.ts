import { dashboardFrom, layerVariable } from './dashboard.ts'
import { graph, stat, table, timeline, words } from './panel.ts'
import { gain, quantile, rate, select, share } from './series.ts'
import { stagesOverTime, stageWords, switchWords } from './stages.ts'

const failed = 'code=~"5..",source!="shed"'
const counted = 'code!="499"'
const ofLayer = 'layer=~"$layer"'

const now = [
  stat({
    title: 'Gateways',
    description: 'Replicas whose metrics are read. Fewer than there should be: one is down, or cannot be read.',
    unit: 'short',
    queries: `count(${select('build_info')})`,
    runbooks: ['gateway-down'],
  }),
  stat({
    title: 'Calls',
    description: 'Calls that end a second. None at all: nobody gets as far as the gateway.',
    unit: 'reqps',
    queries: rate('requests_total'),
  }),
  stat({
    title: 'Failing calls',
    description:
      'Share of calls that end with 5xx; callers that left and calls shed on purpose do not count. Red where the month’s error budget would last two days.',
    unit: 'percentunit',
    queries: share(
      `(${rate('requests_total', { where: failed })} or vector(0))`,
      rate('requests_total', { where: counted }),
    ),
    warns: 0.001,
    alarms: 0.0144,
    runbooks: ['error-budget-burn'],
  }),
  stat({
    title: 'Overhead, p95',
    description: 'What the gateway itself adds before the first byte, for all but one call in twenty.',
    unit: 's',
    queries: quantile(0.95, 'overhead_seconds'),
    warns: 0.025,
    alarms: 0.05,
    runbooks: ['latency-high'],
  }),
  stat({
    title: 'Runners available',
    description: 'Share of runners that take calls, as the gateways see it.',
    unit: 'percentunit',
    queries: `avg(${select('runner_available')})`,
    warns: 1,
    alarms: 0.5,
    runbooks: ['runner-unavailable'],
  }),
  stat({
    title: 'Layers rolled back',
    description: 'Layers that at least one replica has rolled back.',
    unit: 'short',
    queries: `count(min by (layer) (${select('layer_stage')}) < 0) or vector(0)`,
    warns: 1,
    runbooks: ['layer-rolled-back'],
  }),
]

const where = [
  stagesOverTime(),
  table(
    {
      title: 'Replicas agree',
      description:
        'The furthest and the nearest replica for each layer. They differ for seconds only, or something is wrong.',
      unit: 'short',
      queries: {
        furthest: `max by (layer) (${select('layer_stage', { where: ofLayer })})`,
        nearest: `min by (layer) (${select('layer_stage', { where: ofLayer })})`,
      },
      width: 8,
      runbooks: ['replicas-disagree'],
    },
    stageWords,
  ),
]

const changed = [
  table({
    title: 'Alerts that fire',
    description: 'From grafana/alerts.yaml, where Prometheus evaluates it.',
    unit: 'short',
    queries: 'ALERTS{job=~"$job",alertname=~"Foldgate.+",alertstate="firing"}',
    hides: ['Value', '__name__', 'alertstate'],
    width: 9,
  }),
  table({
    title: 'Rollbacks in this time',
    description:
      'Layers that were taken back: by the controller on evidence, by a person, or along with another layer.',
    unit: 'short',
    queries: {
      rollbacks: `max by (layer, cause) (increase(${select('rollbacks_total', { where: ofLayer })}[$__range])) > 0`,
    },
    width: 5,
    runbooks: ['layer-rolled-back'],
  }),
  table({
    title: 'Decisions in this time',
    description: 'What the controller said about layers that move, each counted when it says something new.',
    unit: 'short',
    queries: { decisions: `${gain('canary_decisions_total', { where: ofLayer, by: 'layer, decision' })} > 0` },
    width: 5,
    runbooks: ['rollout-stuck'],
  }),
  timeline(
    {
      title: 'Switched by people',
      description: 'frozen: nothing moves forward. unstreamed: streams are made from whole answers.',
      unit: 'short',
      queries: { frozen: `max(${select('frozen')})`, unstreamed: `max(${select('unstreamed')})` },
      width: 5,
    },
    switchWords,
  ),
]

const isItUs = [
  graph({
    title: 'Failing calls by who answered',
    description:
      'source gateway: it refused or failed itself; runner: the answer came from there; fallback: from another runner than planned.',
    unit: 'reqps',
    queries: { '{{source}} {{code}}': rate('requests_total', { where: failed, by: 'source, code' }) },
    stacked: true,
    width: 8,
    runbooks: ['error-budget-burn'],
  }),
  graph({
    title: 'Latency now and an hour ago, p95',
    description: 'Whole answers. Far above an hour ago with no change on the right: the runner is slower.',
    unit: 's',
    queries: {
      now: quantile(0.95, 'request_duration_seconds'),
      'an hour ago': quantile(0.95, 'request_duration_seconds', { ago: '1h' }),
    },
    exemplars: true,
    width: 8,
    runbooks: ['latency-high'],
  }),
  graph({
    title: 'Overhead of the gateway',
    description: 'What the gateway itself adds before the first byte. If this moves, it is us.',
    unit: 's',
    queries: {
      p50: quantile(0.5, 'overhead_seconds'),
      p95: quantile(0.95, 'overhead_seconds'),
      p99: quantile(0.99, 'overhead_seconds'),
    },
    exemplars: true,
    alarms: 0.05,
    width: 8,
    runbooks: ['latency-high'],
  }),
  graph({
    title: 'Fallbacks by reason',
    description:
      'Calls whose layer came back to the gateway: the caller got an answer, and the runner could not have the layer.',
    unit: 'reqps',
    queries: { '{{layer}} {{reason}}': rate('fallbacks_total', { where: ofLayer, by: 'layer, reason' }) },
    stacked: true,
    runbooks: ['layer-falling-back'],
  }),
  graph({
    title: 'Runners',
    description: '1 while a runner takes calls; between 0 and 1 it is ejected on some replicas.',
    unit: 'short',
    queries: { '{{runner}}': `avg by (runner) (${select('runner_available')})` },
    max: 1,
    runbooks: ['runner-unavailable'],
  }),
]

const stop = words(
  'How to stop it',
  [
    '```sh',
    'foldgate status                                      # every replica at a glance',
    'foldgate rollback LAYER --reason "incident 7"        # one layer back to the gateway; exit code 3: a replica did not confirm',
    'foldgate rollback --all --reason "incident 7"        # every layer',
    '```',
    '',
    'A rollback is never wrong and may be repeated; it holds from the next call on and needs neither Prometheus nor Redis nor Kubernetes.',
    'Without the admin port: create the file that `folding.panicFile` names, or send the gateway SIGUSR2.',
    'The same with a button: [the on-call page](${oncall}/). What each alert means: [the runbooks](${runbooks}/README.md).',
  ].join('\n'),
  7,
)

/** One screen: what is wrong, what changed, whether it is us, and how to stop it. */
export const onCall = dashboardFrom({
  uid: 'foldgate-on-call',
  title: 'On call',
  description: 'What is wrong, what changed, whether it is us, and how to stop it.',
  variables: [layerVariable],
  from: 'now-3h',
  rows: [
    { title: 'Now', panels: now },
    { title: 'What runs where', panels: where },
    { title: 'What changed', panels: changed },
    { title: 'Is it us', panels: isItUs },
    { title: 'How to stop it', panels: [stop] },
  ],
})
