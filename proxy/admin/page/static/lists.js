import { h } from './dom.js'
import { age, instant, ms } from './words.js'

/**
 * @typedef {import('../page-snapshot.ts').PageSnapshot} Snapshot
 * @typedef {import('../page-snapshot.ts').PageChange} Change
 * @typedef {import('../page-snapshot.ts').Finding} Finding
 * @typedef {Snapshot['load']['failed'][number]} Seen
 */

/** Changes that are shown at once. */
const fewChanges = 6

const severities = { bad: 'bad', warn: 'look', info: 'note' }

/**
 * What to look at, worst first.
 * @param {Snapshot} snapshot
 */
export function findings({ findings: all, links }) {
  if (all.length === 0) return [h('p', { class: 'none good' }, 'Nothing stands out.')]
  return [
    h(
      'ol',
      { role: 'list' },
      all.map((each) => finding(each, links.runbooks)),
    ),
  ]
}

/** @param {Finding} finding @param {readonly string[]} runbooks */
function finding({ id, severity, words, runbook, command }, runbooks) {
  return h(
    'li',
    { key: id, class: severity },
    h('span', { class: `pill ${severity}` }, severities[severity]),
    h('span', { class: 'words' }, words),
    h(
      'span',
      { class: 'then' },
      command &&
        h('button', { type: 'button', class: 'link code', 'data-copy': command, title: 'copy this command' }, command),
      runbook && (runbooks.includes(runbook) ? runbookLink(runbook) : h('code', {}, `grafana/runbooks/${runbook}.md`)),
    ),
  )
}

/** @param {string} name */
function runbookLink(name) {
  return h('a', { href: `-/page/runbooks/${name}`, 'data-read': name }, `runbook: ${name.replaceAll('-', ' ')}`)
}

/**
 * What changed: the last moves, reloads and starts, latest first.
 * @param {Snapshot} snapshot
 */
export function changes({ changes: all, at }) {
  const list = (/** @type {readonly Change[]} */ some) =>
    h(
      'ol',
      { role: 'list' },
      some.map((each) => change(each, at)),
    )
  const earlier = all.slice(fewChanges)
  return [
    list(all.slice(0, fewChanges)),
    ...(earlier.length > 0
      ? [h('details', { class: 'earlier' }, h('summary', {}, `${earlier.length} earlier`), list(earlier))]
      : []),
  ]
}

/** @param {Change} change @param {number} now */
function change({ at, kind, what, from, to, actor, reason }, now) {
  const name = what === '*' ? 'all layers' : what
  const said = (/** @type {string} */ stage) => stage.replace('rolled-back', 'rolled back')
  return h(
    'li',
    { key: `${at} ${what} ${to}`, class: kind },
    h('time', { datetime: new Date(at).toISOString(), title: instant(at) }, age(at, now)),
    h(
      'div',
      {},
      h(
        'p',
        { class: 'move' },
        h('b', {}, name),
        ' ',
        from && h('span', { class: 'from' }, said(from)),
        from &&
          h(
            'span',
            { class: 'arrow' },
            h('span', { class: 'hidden' }, 'to'),
            h('span', { 'aria-hidden': 'true' }, '→'),
          ),
        ' ',
        h('span', { class: 'to' }, said(to)),
      ),
      h('p', { class: 'who' }, h('span', { class: 'actor' }, actor), reason && `: ${reason}`),
    ),
  )
}

/**
 * Where next: calls that are worth a look, and runbooks.
 * @param {Snapshot} snapshot
 */
export function next({ load, links, at }) {
  const { failed, slowest } = load
  return [
    h('h3', {}, 'Calls worth a look'),
    failed.length === 0 && !slowest
      ? h('p', { class: 'none' }, 'No call has failed in this process, and none was made within five minutes.')
      : h(
          'ul',
          { class: 'calls', role: 'list' },
          slowest ? seen(slowest, `slowest of 5 min, ${ms(slowest.ms)}`, { links, at }) : false,
          failed.slice(0, 5).map((each) => seen(each, each.error ?? 'failed', { links, at })),
        ),
    h('h3', {}, 'Dashboards'),
    h(
      'p',
      {},
      'In Grafana, on call: ',
      h('code', {}, 'grafana/dashboards/on-call.json'),
      ', fed by ',
      h('a', { href: 'metrics', target: '_blank', rel: 'noreferrer' }, '/metrics'),
    ),
    h('h3', {}, 'Runbooks'),
    links.runbooks.length === 0
      ? h('p', { class: 'none' }, 'In grafana/runbooks of the source.')
      : h(
          'details',
          {},
          h('summary', {}, `All ${links.runbooks.length} runbooks`),
          h(
            'ul',
            { class: 'books', role: 'list' },
            links.runbooks.map((name) => h('li', { key: name }, runbookLink(name))),
          ),
        ),
  ]
}

/** @param {Seen} call @param {string} why @param {{ links: Snapshot['links'], at: number }} context */
function seen({ requestId, traceId, code, route, at: when }, why, { links, at }) {
  return h(
    'li',
    { key: `${requestId} ${why}` },
    h('span', { class: `number ${code >= 500 ? 'bad' : ''}` }, String(code)),
    h('span', { class: 'what' }, `${route}, ${why}, ${age(when, at)} ago`),
    h(
      'span',
      { class: 'then' },
      h(
        'button',
        { type: 'button', class: 'link', 'data-explain': requestId, 'aria-label': `Explain call ${requestId}` },
        'explain',
      ),
      links.trace &&
        h(
          'a',
          {
            href: links.trace + traceId,
            target: '_blank',
            rel: 'noreferrer',
            'aria-label': `Trace of call ${requestId}, in a new tab`,
          },
          'trace',
        ),
    ),
  )
}
