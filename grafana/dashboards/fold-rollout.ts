import { dashboardFrom, layerVariable } from './dashboard.ts'
import { graph, stat } from './panel.ts'
import { gain, quantile, rate, select, share } from './series.ts'
import { stagesOverTime } from './stages.ts'

const ofLayer = 'layer=~"$layer"'
const compared = 'verdict=~"equal|differs|ignored"'
const old = 'arm=~"gateway|shadow"'
const moved = 'arm=~"proving|native"'

const standing = [
  stagesOverTime(),
  graph({
    title: 'Share of the runner',
    description: 'Share of its units that the runner decides for a layer.',
    unit: 'percentunit',
    queries: { '{{layer}}': `max by (layer) (${select('layer_weight_ratio', { where: ofLayer })})` },
    max: 1,
    width: 8,
  }),
  stat({
    title: 'Steps on',
    description: 'Layers that went a step further in the time shown, over all replicas.',
    unit: 'short',
    queries: gain('promotions_total', { where: ofLayer }),
  }),
  stat({
    title: 'Steps back',
    description: 'Layers that were taken back in the time shown, over all replicas.',
    unit: 'short',
    queries: gain('rollbacks_total', { where: ofLayer }),
    warns: 1,
    runbooks: ['layer-rolled-back'],
  }),
  stat({
    title: 'On hold',
    description: 'Decisions to go no further, in the time shown.',
    unit: 'short',
    queries: gain('canary_decisions_total', { where: `${ofLayer},decision="hold"` }),
    warns: 1,
    runbooks: ['rollout-stuck'],
  }),
  stat({
    title: 'Differences',
    description:
      'Share of comparisons in which the two halves of a layer decided differently, in the time shown. More than one in a thousand holds a layer.',
    unit: 'percentunit',
    queries: share(
      `(${gain('shadow_comparisons_total', { where: `${ofLayer},verdict="differs"` })} or vector(0))`,
      gain('shadow_comparisons_total', { where: `${ofLayer},${compared}` }),
    ),
    warns: 0.0005,
    alarms: 0.001,
    runbooks: ['shadow-differences'],
  }),
  stat({
    title: 'Coverage',
    description: 'Share of comparisons that could be made, in the time shown; the rest was skipped.',
    unit: 'percentunit',
    queries: share(
      gain('shadow_comparisons_total', { where: `${ofLayer},${compared}` }),
      gain('shadow_comparisons_total', { where: ofLayer }),
    ),
    warns: 0.99,
    alarms: 0.9,
    runbooks: ['evidence-dropped'],
  }),
  stat({
    title: 'Given up',
    description: 'Comparisons, copies and questions that were given up instead of slowing a call, in the time shown.',
    unit: 'short',
    queries: gain('shadow_dropped_total'),
    runbooks: ['evidence-dropped'],
  }),
  graph({
    title: 'Calls that decisions rest on',
    description:
      'Calls of the present step that have ended, of all replicas, by arm. A step needs thousands of them before it goes on.',
    unit: 'short',
    width: 8,
    queries: { '{{layer}} {{arm}}': `max by (layer, arm) (${select('canary_samples', { where: ofLayer })})` },
    runbooks: ['rollout-stuck'],
  }),
  graph({
    title: 'Age of the evidence',
    description: 'At most how long ago the newest call began that decisions rest on. It grows where nothing is served.',
    unit: 's',
    width: 8,
    queries: { '{{layer}}': `max by (layer) (${select('canary_evidence_age_seconds', { where: ofLayer })})` },
    runbooks: ['rollout-stuck'],
  }),
  graph({
    title: 'Time to roll back',
    description:
      'From the word to take a layer back until no call of a replica is given to the runner for it; the slowest replicas.',
    unit: 's',
    width: 8,
    queries: { p99: quantile(0.99, 'rollback_duration_seconds', { where: ofLayer }) },
    runbooks: ['layer-rolled-back'],
  }),
]

function arm(name: string, where: string) {
  return [
    graph({
      title: `Calls, ${name}`,
      description: `Calls whose moving layer was decided ${name}.`,
      unit: 'reqps',
      queries: { '{{arm}}': rate('request_duration_seconds_count', { where, by: 'arm' }) },
    }),
    graph({
      title: `Latency, ${name}`,
      description: `Whole answers of calls whose moving layer was decided ${name}; the two columns have the same boundaries.`,
      unit: 's',
      queries: {
        p50: quantile(0.5, 'request_duration_seconds', { where }),
        p95: quantile(0.95, 'request_duration_seconds', { where }),
        p99: quantile(0.99, 'request_duration_seconds', { where }),
      },
      exemplars: true,
      runbooks: ['latency-high'],
    }),
    graph({
      title: `First token, ${name}`,
      description: `Streams of calls whose moving layer was decided ${name}.`,
      unit: 's',
      queries: {
        p50: quantile(0.5, 'time_to_first_token_seconds', { where }),
        p95: quantile(0.95, 'time_to_first_token_seconds', { where }),
      },
      exemplars: true,
    }),
  ] as const
}

const [oldArm, newArm] = [arm('in the gateway', old), arm('at the runner', moved)]

const evidence = [
  graph({
    title: 'Comparisons',
    description: 'The two halves of a layer held against each other, and whole answers (layer "answer").',
    unit: 'ops',
    queries: {
      '{{layer}} {{verdict}}': rate('shadow_comparisons_total', {
        where: 'layer=~"$layer|answer"',
        by: 'layer, verdict',
      }),
    },
    stacked: true,
    runbooks: ['shadow-differences'],
  }),
  graph({
    title: 'Given up, by reason',
    description: 'Comparisons, copies and questions that were given up instead of slowing a call.',
    unit: 'ops',
    queries: { '{{reason}}': rate('shadow_dropped_total', { by: 'reason' }) },
    stacked: true,
    runbooks: ['evidence-dropped'],
  }),
  graph({
    title: 'Where layers ran',
    description: 'What the layer status said of each layer, and who executed it.',
    unit: 'reqps',
    queries: {
      '{{status}} by {{by}}': rate('layer_status_total', { where: ofLayer, by: 'status, by' }),
    },
    stacked: true,
  }),
  graph({
    title: 'Fallbacks by reason',
    description: 'Layers of calls that came back to the gateway; those taken along count with the reason.',
    unit: 'reqps',
    queries: { '{{layer}} {{reason}}': rate('fallbacks_total', { where: ofLayer, by: 'layer, reason' }) },
    stacked: true,
    runbooks: ['layer-falling-back'],
  }),
  graph({
    title: 'Streams without a final word',
    description: 'Streams that ended without the word of a layer at the runner that says how it ended.',
    unit: 'reqps',
    queries: { '{{layer}}': rate('unacknowledged_total', { where: ofLayer, by: 'layer' }) },
    runbooks: ['acknowledgement-missing'],
  }),
  graph({
    title: 'Steps of policies at runners',
    description: 'soft: the runner enforces a part only. refused and failed keep a layer in the gateway.',
    unit: 'ops',
    queries: { '{{result}}': rate('policy_compile_total', { by: 'result' }) },
    runbooks: ['policy-refused'],
  }),
]

/** How far each layer has moved, and what it is judged by. */
export const foldRollout = dashboardFrom({
  uid: 'foldgate-fold-rollout',
  title: 'Fold rollout',
  description:
    'How far each layer has moved to the runner, its two arms side by side, and the evidence that it is judged by.',
  variables: [layerVariable],
  from: 'now-24h',
  rows: [
    { title: 'Where it stands', panels: standing },
    { title: 'In the gateway | at the runner', panels: oldArm.flatMap((panel, at) => [panel, newArm[at] ?? panel]) },
    { title: 'Evidence', panels: evidence },
  ],
})
