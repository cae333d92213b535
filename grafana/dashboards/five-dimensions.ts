import { dashboardFrom } from './dashboard.ts'
import { graph, heat, stat } from './panel.ts'
import { gain, quantile, rate, share } from './series.ts'

const week = { ago: '1w' } as const
const ratio = (pick: { ago?: string } = {}): string =>
  share(
    rate('tokens_total', { where: 'kind="output"', ...pick }),
    rate('tokens_total', { where: 'kind="input"', ...pick }),
  )
const good = 'code=~"2.."'

const summary = [
  stat({
    title: '1 Status: calls that succeed',
    description: 'Share of calls with 2xx now, less the share seven days ago. Below zero: fewer succeed than then.',
    unit: 'percentunit',
    queries: `${share(rate('requests_total', { where: good }), rate('requests_total'))} - ${share(rate('requests_total', { where: good, ...week }), rate('requests_total', week))}`,
    warns: -0.005,
    alarms: -0.02,
    none: 'no week to compare with',
    runbooks: ['error-budget-burn'],
  }),
  stat({
    title: '2 Latency: p95 against last week',
    description: 'p95 of whole answers now, as a multiple of that seven days ago. The alert is at 1.5.',
    unit: 'short',
    queries: `${quantile(0.95, 'request_duration_seconds')} / ${quantile(0.95, 'request_duration_seconds', week)}`,
    warns: 1.2,
    alarms: 1.5,
    none: 'no week to compare with',
    runbooks: ['latency-high'],
  }),
  stat({
    title: '3 Headers that got lost',
    description: 'Headers that were expected and not there, in the time shown.',
    unit: 'short',
    queries: `${gain('missing_header_total')} or vector(0)`,
    warns: 1,
    alarms: 50,
    runbooks: ['header-missing', 'acknowledgement-missing'],
  }),
  stat({
    title: '4 Tokens: output per input',
    description:
      'Tokens made for each token read, now, as a multiple of that seven days ago. Far from 1: prompts or answers have changed in length, which a lost prompt template or a cut answer does.',
    unit: 'short',
    queries: `${ratio()} / ${ratio(week)}`,
    none: 'no week to compare with',
  }),
  stat({
    title: '5 Errors: 429 and 504',
    description: 'Share of calls that were limited (429) or timed out (504).',
    unit: 'percentunit',
    queries: share(`(${rate('requests_total', { where: 'code=~"429|504"' })} or vector(0))`, rate('requests_total')),
    warns: 0.01,
    alarms: 0.05,
    runbooks: ['pressure'],
  }),
]

const status = [
  graph({
    title: 'Status of calls',
    description: 'Share of each HTTP status; 499: the caller went away.',
    unit: 'percentunit',
    queries: {
      '{{code}}': `${rate('requests_total', { by: 'code' })} / ignoring (code) group_left () ${rate('requests_total')}`,
    },
    stacked: true,
    max: 1,
  }),
  graph({
    title: 'Status of layers',
    description: 'Share of each layer status over all layers and calls: where the work is done.',
    unit: 'percentunit',
    queries: {
      '{{status}}': `${rate('layer_status_total', { by: 'status' })} / ignoring (status) group_left () ${rate('layer_status_total')}`,
    },
    stacked: true,
    max: 1,
  }),
]

const latency = [
  graph({
    title: 'Whole answers, now and seven days ago',
    description:
      'The same hour of the same day. A lasting gap that began with a stage change is the layer’s; one without is the runner’s.',
    unit: 's',
    queries: {
      'p50 now': quantile(0.5, 'request_duration_seconds'),
      'p50 a week ago': quantile(0.5, 'request_duration_seconds', week),
      'p95 now': quantile(0.95, 'request_duration_seconds'),
      'p95 a week ago': quantile(0.95, 'request_duration_seconds', week),
    },
    exemplars: true,
    runbooks: ['latency-high'],
  }),
  graph({
    title: 'First tokens, now and seven days ago',
    description: 'Streams only.',
    unit: 's',
    queries: {
      'p50 now': quantile(0.5, 'time_to_first_token_seconds'),
      'p50 a week ago': quantile(0.5, 'time_to_first_token_seconds', week),
      'p95 now': quantile(0.95, 'time_to_first_token_seconds'),
      'p95 a week ago': quantile(0.95, 'time_to_first_token_seconds', week),
    },
    exemplars: true,
    runbooks: ['latency-high'],
  }),
]

const headers = [
  heat({
    title: 'Headers that got lost',
    description:
      'A row for each header and place. runner-in: a context that the runner did not get; runner-out: an acknowledgement that did not come back; client-out: an answer that left without the layer status. A row that darkens at once is an edge that began to drop it.',
    unit: 'ops',
    queries: { '{{header}} at {{where}}': rate('missing_header_total', { by: 'header, where' }) },
    width: 24,
    runbooks: ['header-missing', 'acknowledgement-missing'],
  }),
]

const tokens = [
  graph({
    title: 'Output tokens per input token, now and seven days ago',
    description:
      'Over all calls whose usage is read (a layer that counts tokens is on). It moves with what people ask, slowly; a jump is ours or the runner’s.',
    unit: 'short',
    queries: { now: ratio(), 'a week ago': ratio(week) },
  }),
  graph({
    title: 'Tokens',
    description:
      'Tokens of calls that ended, a second, as runners counted them; cached ones are input tokens that were in a KV cache.',
    unit: 'short',
    queries: { '{{kind}}': rate('tokens_total', { by: 'kind' }) },
  }),
]

const errors = [
  graph({
    title: 'Limited and timed out',
    description: '429: over a limit, here or at the runner. 504: no answer in time. By who said so.',
    unit: 'reqps',
    queries: { '{{code}} by {{source}}': rate('requests_total', { where: 'code=~"429|504"', by: 'code, source' }) },
    stacked: true,
    runbooks: ['pressure', 'runner-unavailable'],
  }),
  graph({
    title: 'All error codes',
    description: 'Every status from 400 on.',
    unit: 'reqps',
    queries: {
      '{{code}} by {{source}}': rate('requests_total', { where: 'code=~"4..|5..",code!="499"', by: 'code, source' }),
    },
    stacked: true,
    runbooks: ['error-budget-burn'],
  }),
]

/** The five things that must look as before after a layer has moved. */
export const fiveDimensions = dashboardFrom({
  uid: 'foldgate-five-dimensions',
  title: 'Five dimensions',
  description:
    'What must look as it did before after a layer has moved: status, latency, headers, tokens, errors; each against seven days ago where that means something.',
  from: 'now-24h',
  rows: [
    { title: 'Each in one number', panels: summary },
    { title: '1 Status', panels: status },
    { title: '2 Latency', panels: latency },
    { title: '3 Headers', panels: headers },
    { title: '4 Tokens', panels: tokens },
    { title: '5 Errors', panels: errors },
  ],
})
