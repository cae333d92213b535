import { commandFor } from './command.js'
import { h } from './dom.js'
import { age, instant } from './words.js'

/**
 * @typedef {import('../page-snapshot.ts').PageSnapshot} Snapshot
 * @typedef {import('../page-snapshot.ts').PageLayer} Layer
 * @typedef {import('../page-snapshot.ts').PageViewer} Viewer
 * @typedef {import('./dom.js').Picture} Picture
 */

/**
 * Whether a layer has left the gateway.
 * @param {Pick<Layer, 'on' | 'stage'>} layer
 */
export const isOut = ({ on, stage }) => on && (stage === 'shadow' || stage === 'canary' || stage === 'native')

/** @param {Layer} layer */
function toneOf({ on, stage, able }) {
  if (!on) return 'off'
  if (stage === 'rolled-back') return 'back'
  if (isOut({ on, stage }) && able === 0) return 'unable'
  return stage
}

/**
 * The seats as they stand over the rows.
 * @param {readonly string[]} stops
 */
function head(stops) {
  return h(
    'div',
    { class: 'track head', 'aria-hidden': 'true' },
    stops.map((stop) => h('span', { class: 'stop' }, stop)),
  )
}

/** @param {Layer} layer @param {readonly string[]} stops */
function track(layer, stops) {
  const tone = toneOf(layer)
  const at = layer.on ? layer.stop : -1
  return h(
    'div',
    { class: `track ${tone}`, 'aria-hidden': 'true' },
    stops.map((stop, place) => {
      const where = place === at ? 'at' : place < at ? 'past' : 'ahead'
      return h(
        'span',
        { class: `seat ${where}` },
        h('span', { class: 'dot' }, place === at && layer.stage === 'canary' ? stop : false),
      )
    }),
  )
}

/** @param {Layer} layer @param {number} now */
function standing(layer, now) {
  if (!layer.on)
    return [h('p', {}, h('span', { class: 'said off' }, 'off')), h('p', { class: 'since' }, 'not configured')]
  const said = layer.stage === 'rolled-back' ? 'rolled back' : layer.said
  const { moved } = layer
  return [
    h(
      'p',
      {},
      h('span', { class: `said ${toneOf(layer)}` }, said),
      layer.held && h('span', { class: 'tag' }, 'on hold'),
      isOut(layer) && layer.able === 0 && h('span', { class: 'tag bad' }, 'falls back'),
      layer.stays && h('span', { class: 'tag', title: layer.stays }, 'stays'),
    ),
    moved
      ? h(
          'p',
          { class: 'since', title: moved.reason },
          h(
            'time',
            { datetime: new Date(moved.at).toISOString(), title: instant(moved.at) },
            `since ${age(moved.at, now)}`,
          ),
          ` · ${moved.actor}`,
        )
      : h('p', { class: 'since' }, 'as configured'),
  ]
}

/** @param {Layer} layer @param {Viewer | undefined} viewer */
function stop(layer, viewer) {
  if (!isOut(layer)) return h('div', { class: 'act' })
  const label = `Roll back ${layer.name}`
  return h(
    'div',
    { class: 'act' },
    viewer?.role === 'operator'
      ? h(
          'button',
          { type: 'button', class: 'small danger-line', 'data-rollback': layer.name, 'aria-label': label },
          'Roll back',
        )
      : h(
          'button',
          {
            type: 'button',
            class: 'small quiet',
            'data-copy': commandFor(layer.name, viewer),
            'aria-label': `Copy the command to roll back ${layer.name}`,
          },
          'Copy command',
        ),
  )
}

/** @param {Layer} layer @param {Snapshot} snapshot @param {Viewer | undefined} viewer */
function row(layer, { stops, at }, viewer) {
  return h(
    'li',
    {
      class: `layer ${toneOf(layer)}`,
      key: layer.name,
      'data-layer': layer.name,
      tabindex: -1,
      'aria-labelledby': `layer-${layer.name}`,
    },
    h('div', { class: 'name' }, h('h3', { id: `layer-${layer.name}` }, layer.name), h('p', {}, layer.does)),
    track(layer, stops),
    h('div', { class: 'standing' }, standing(layer, at)),
    stop(layer, viewer),
  )
}

/**
 * What runs where: the layers in the order of a call, each on its seat.
 * @param {Snapshot} snapshot
 * @param {Viewer | undefined} viewer
 * @returns {Picture[]}
 */
export function stack(snapshot, viewer) {
  return [
    h(
      'div',
      { class: 'layer heading', 'aria-hidden': 'true' },
      h('div', { class: 'name' }, 'a call comes in'),
      head(snapshot.stops),
    ),
    h(
      'ol',
      { class: 'layers', role: 'list' },
      snapshot.layers.map((layer) => row(layer, snapshot, viewer)),
    ),
    h('p', { class: 'runners' }, h('span', {}, 'and goes on to'), runnersLine(snapshot)),
  ]
}

/** @param {Snapshot} snapshot */
function runnersLine({ gateway: { runners } }) {
  return runners.map(({ name, available, reached, processes }) =>
    h(
      'span',
      { class: `runner ${available && reached === processes ? 'good' : 'bad'}`, key: name },
      `runner ${name}: `,
      h(
        'b',
        {},
        available ? (processes > 0 ? `${reached} of ${processes} processes reached` : 'available') : 'out of rotation',
      ),
    ),
  )
}

/**
 * How many replicas agree, in words.
 * @param {Snapshot['replicas']} replicas
 */
export function replicasLine(replicas) {
  if (!replicas) return 'replicas: not told from here until a layer moves'
  const { agree, of, away } = replicas
  return away.length === 0
    ? `${agree} of ${of} ${of === 1 ? 'replica agrees' : 'replicas agree'}`
    : `${agree} of ${of} replicas agree; not ${away.join(', ')}`
}
