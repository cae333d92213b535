import { h } from './dom.js'
import { ms, msParts, number, percentNumber } from './words.js'

/**
 * @typedef {import('../page-snapshot.ts').PageSnapshot} Snapshot
 * @typedef {import('./dom.js').Picture} Picture
 * @typedef {Snapshot['load']} Load
 * @typedef {Load['now']} Sum
 */

const [width, height] = [240, 36]

/**
 * A line over the last hour, a point a minute; decoration, since the figures beside it say what it shows.
 * @param {readonly (number | null)[]} values
 * @param {string} tone
 * @returns {Picture}
 */
function spark(values, tone) {
  const most = Math.max(...values.map((value) => value ?? 0), Number.MIN_VALUE)
  const step = width / (values.length - 1)
  const points = values.map((value, at) =>
    value === null ? null : [at * step, height - 3 - (value / most) * (height - 8)],
  )
  const line = points
    .map((point, at) =>
      point ? `${at === 0 || !points[at - 1] ? 'M' : 'L'}${point.map((each) => each.toFixed(1)).join(' ')}` : '',
    )
    .join('')
  const known = points.filter((point) => point !== null)
  const [first, last] = [known[0], known.at(-1)]
  const area =
    first && last && known.length > 1
      ? `${line}L${last[0]?.toFixed(1)} ${height}L${first[0]?.toFixed(1)} ${height}Z`
      : ''
  return h(
    'svg',
    {
      class: `spark ${tone}`,
      viewBox: `0 0 ${width} ${height}`,
      preserveAspectRatio: 'none',
      'aria-hidden': 'true',
      focusable: 'false',
    },
    h('line', { x1: 0, y1: height - 1, x2: width, y2: height - 1, class: 'base' }),
    // With holes in the line, what is under it would not be.
    known.length === values.length ||
      values.slice(values.findIndex((value) => value !== null)).every((value) => value !== null)
      ? h('path', { d: area, class: 'area' })
      : false,
    h('path', { d: line, class: 'line' }),
    // A line without length has round ends, however the picture is stretched.
    last ? h('path', { d: `M${last[0]} ${last[1]}h0`, class: 'end' }) : false,
  )
}

/**
 * The figure of before, and how it was.
 * @param {Load} load
 * @param {(sum: Sum) => string} said
 * @param {number} now
 */
function beside({ before, beforeIs, startedAt }, said, now) {
  const minutes = Math.max(0, Math.round((now - startedAt) / 60_000))
  if (!before) return `since start ${minutes} min ago`
  return beforeIs === 'hour-ago' ? `one hour ago ${said(before)}` : `${said(before)} since start ${minutes} min ago`
}

/**
 * @param {{ id: string, title: string, value: string, unit: string, tone: string, beside: string, spark: Picture, more?: Picture | false, source: string, query: string }} tile
 */
function tileFrom({ id, title, value, unit, tone, beside: was, spark: line, more, source, query }) {
  return h(
    'article',
    { class: 'tile', key: id, 'aria-labelledby': `tile-${id}` },
    h('h3', { id: `tile-${id}` }, title),
    h('p', { class: `value ${tone}` }, h('span', { class: 'number' }, value), ' ', h('span', { class: 'unit' }, unit)),
    h('p', { class: 'was' }, was),
    more ?? false,
    line,
    h('details', { class: 'source' }, h('summary', {}, source), h('code', {}, query)),
  )
}

/** @param {Sum} sum */
const rateOf = ({ failed, calls }) => (calls === 0 ? 0 : failed / calls)

/**
 * Is it us: what callers notice now and what they noticed an hour ago, and whose part of it is whose.
 * @param {Snapshot} snapshot
 * @returns {Picture[]}
 */
export function figures({ load, at, gateway }) {
  const { now, before, series } = load
  const rate = rateOf(now)
  const errorTone =
    now.failed === 0 ? 'good' : rate >= 0.01 && rate > 2 * (before ? rateOf(before) : 0) ? 'bad' : 'warn'
  const [p95, wasP95] = [now.firstByteMs?.p95, before?.firstByteMs?.p95]
  const slow = p95 && wasP95 && p95 > 1.5 * wasP95 && p95 - wasP95 > 50
  const [p95Number, p95Unit] = p95 === undefined ? ['–', ''] : msParts(p95)
  const perMinute = now.calls / Math.max(1, now.minutes)
  return [
    tileFrom({
      id: 'errors',
      title: 'Errors callers see',
      value: now.calls === 0 ? '–' : percentNumber(rate),
      unit: now.calls === 0 ? 'no calls' : '% of calls',
      tone: now.calls === 0 ? '' : errorTone,
      beside: beside(load, (sum) => (sum.calls === 0 ? 'no calls' : `${percentNumber(rateOf(sum))} %`), at),
      more: h(
        'p',
        { class: 'more' },
        `${number(now.failed)} of ${number(now.calls)} calls with 5xx, last ${now.minutes} min`,
      ),
      spark: spark(series.failed, errorTone),
      source: 'this replica, last 5 minutes',
      query:
        'sum(rate(foldgate_requests_total{code=~"5..",source!="shed"}[5m])) / sum(rate(foldgate_requests_total[5m]))',
    }),
    tileFrom({
      id: 'latency',
      title: 'Wait for the first byte',
      value: p95Number,
      unit: p95Unit && `${p95Unit} p95`,
      tone: slow ? 'warn' : '',
      beside: beside(load, (sum) => (sum.firstByteMs ? ms(sum.firstByteMs.p95) : 'no calls'), at),
      more: now.firstByteMs
        ? h('p', { class: 'more' }, `p50 ${ms(now.firstByteMs.p50)}, p99 ${ms(now.firstByteMs.p99)}`)
        : false,
      spark: spark(series.firstByteMs, slow ? 'warn' : 'accent'),
      source: 'this replica, last 5 minutes',
      query: 'histogram_quantile(0.95, sum by (le) (rate(foldgate_first_byte_seconds_bucket[5m])))',
    }),
    tileFrom({
      id: 'split',
      title: 'Gateway beside runner',
      ...splitOf(now),
      tone: (now.overheadMs?.p95 ?? 0) > 50 ? 'warn' : '',
      beside: beside(load, (sum) => (sum.overheadMs ? ms(sum.overheadMs.p95) : 'no calls'), at),
      more: split(now),
      spark: spark(series.overheadMs, 'accent'),
      source: 'this replica, last 5 minutes',
      query: 'histogram_quantile(0.95, sum by (le) (rate(foldgate_overhead_seconds_bucket[5m])))',
    }),
    tileFrom({
      id: 'calls',
      title: 'Calls',
      value: number(Math.round(perMinute)),
      unit: 'a minute',
      tone: '',
      beside: beside(load, (sum) => number(Math.round(sum.calls / Math.max(1, sum.minutes))), at),
      more: h(
        'p',
        { class: 'more' },
        [
          `${number(gateway.inFlight)} in flight`,
          now.refused && `${number(now.refused)} refused (4xx)`,
          now.left && `${number(now.left)} callers left`,
          now.shed && `${number(now.shed)} shed`,
        ]
          .filter(Boolean)
          .join(', '),
      ),
      spark: spark(series.calls, 'accent'),
      source: 'this replica, last 5 minutes',
      query: 'sum(rate(foldgate_requests_total[5m])) * 60',
    }),
  ]
}

/** @param {Sum} now */
function splitOf({ overheadMs }) {
  const [value, unit] = overheadMs ? msParts(overheadMs.p95) : ['–', '']
  return { value, unit: unit && `${unit} gateway, p95` }
}

/** @param {Sum} now */
function split({ overheadMs, runnerMs }) {
  if (!overheadMs) return false
  const said = runnerMs ? `runner ${ms(runnerMs.p95)} (p95)` : 'no runner was asked'
  const share = runnerMs ? overheadMs.p95 / (overheadMs.p95 + runnerMs.p95) : 1
  return h(
    'div',
    { class: 'more split' },
    h('p', {}, said),
    h(
      'svg',
      { class: 'share', viewBox: '0 0 100 6', preserveAspectRatio: 'none', 'aria-hidden': 'true', focusable: 'false' },
      h('rect', { class: 'runner', x: 0, y: 0, width: 100, height: 6 }),
      h('rect', { class: 'gateway', x: 0, y: 0, width: Math.max(1.5, share * 100).toFixed(1), height: 6 }),
    ),
  )
}
