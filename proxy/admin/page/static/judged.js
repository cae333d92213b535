import { h } from './dom.js'
import { age, number } from './words.js'

/**
 * @typedef {import('../page-snapshot.ts').PageSnapshot} Snapshot
 * @typedef {import('../page-snapshot.ts').PageJudged} Judged
 * @typedef {import('../page-snapshot.ts').PageGate} Gate
 */

const labels = { pass: 'ready', fail: 'bad', wait: 'watching', inconclusive: 'inconclusive' }
const tones = { pass: 'good', fail: 'bad', wait: 'accent', inconclusive: 'warn' }

/**
 * What the canary thinks: verdict, measured against threshold, how much was seen and how old it is.
 * @param {Snapshot} snapshot
 */
export function judged({ judged: all, at }) {
  if (all.length === 0)
    return [h('p', { class: 'none' }, 'No layer is in shadow or canary, so nothing is being judged.')]
  return all.map((each) => one(each, at))
}

/** @param {Judged} judged @param {number} now */
function one({ layer, said, verdict, words, why, samples, needed, newestAt, gates }, now) {
  const met = gates.filter(({ met: is }) => is).length
  const full = Math.max(needed, samples, 1)
  return h(
    'article',
    { key: layer, 'aria-labelledby': `judged-${layer}` },
    h(
      'div',
      { class: 'verdict' },
      h('h3', { id: `judged-${layer}` }, `${layer}, ${said}`),
      h('span', { class: `pill ${tones[verdict]}` }, labels[verdict]),
      h(
        'span',
        { class: 'age' },
        newestAt === null ? 'no call seen yet' : `newest evidence at most ${age(newestAt, now)} old`,
      ),
    ),
    h('p', { class: 'words' }, words),
    h(
      'div',
      { class: 'seen' },
      h('progress', {
        max: full,
        value: Math.min(samples, full),
        'aria-label': `calls seen for ${layer}`,
        class: tones[verdict],
      }),
      h('span', {}, h('b', {}, number(samples)), ` of ${number(needed)} seen`),
      h('span', {}, h('b', {}, String(met)), ` of ${gates.length} gates met`),
    ),
    h('p', { class: 'reason' }, why),
    gates.length > 0 && table(layer, gates),
  )
}

/** @param {string} layer @param {readonly Gate[]} gates */
function table(layer, gates) {
  return h(
    'details',
    { class: 'gates' },
    h('summary', {}, 'Every gate: measured against threshold'),
    h(
      'div',
      { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `gates of ${layer}` },
      h(
        'table',
        {},
        h(
          'thead',
          {},
          h(
            'tr',
            {},
            ['gate', 'measured', 'must be', 'seen', ''].map((each) =>
              h('th', { scope: 'col' }, each || h('span', { class: 'hidden' }, 'met')),
            ),
          ),
        ),
        h('tbody', {}, gates.toSorted((a, b) => Number(a.met) - Number(b.met)).map(rowFrom)),
      ),
    ),
  )
}

/** @param {Gate} gate */
function rowFrom({ name, measured, threshold, seen, needs, met }) {
  return h(
    'tr',
    { key: name, class: met ? 'met' : 'open' },
    h('th', { scope: 'row' }, name),
    h('td', {}, measured),
    h('td', {}, threshold),
    h('td', {}, needs > 0 ? `${number(seen)} of ${number(needs)}` : number(seen)),
    h('td', { class: 'is' }, met ? 'met' : 'open'),
  )
}
