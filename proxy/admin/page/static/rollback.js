import { commandFor } from './command.js'
import { h, show, there } from './dom.js'
import { ask, session } from './session.js'
import { isOut } from './stack.js'

/**
 * @typedef {import('../page-snapshot.ts').PageSnapshot} Snapshot
 * @typedef {import('../page-snapshot.ts').PageViewer} Viewer
 * @typedef {import('../../stage-view.ts').StageOutcome} Outcome
 * @typedef {{ snapshot: Snapshot | undefined, viewer: Viewer | undefined }} State
 */

const dialog = there('rollback', HTMLDialogElement)
const what = there('rollback-what', HTMLSelectElement)
const reason = there('rollback-reason', HTMLInputElement)
const who = there('rollback-who', HTMLInputElement)
const submit = there('rollback-go', HTMLButtonElement)
const fault = there('rollback-fault', HTMLParagraphElement)
const outcome = there('outcome', HTMLElement)

/**
 * Makes the way back: the dialog, and what came of it.
 * @param {State} state
 * @param {{ say(words: string): void, announce(words: string): void }} voice to everybody for a moment, and to people who do not see the page
 */
export function createRollback(state, { say, announce }) {
  const out = () => (state.snapshot?.layers ?? []).filter(isOut)
  const refresh = () => {
    there('rollback-does', HTMLParagraphElement).textContent = doesWhat(what.value, out())
    there('rollback-command', HTMLElement).textContent = commandFor(what.value, state.viewer, reason.value || 'WHY')
  }
  const go = async () => {
    const [layer, why] = [what.value, reason.value.trim()]
    if (!state.viewer?.verified) session.name = who.value.trim()
    fault.textContent = ''
    submit.disabled = true
    const began = performance.now()
    try {
      const path = layer === 'all' ? '-/rollback' : `-/layers/${encodeURIComponent(layer)}/rollback`
      const told = /** @type {Outcome} */ (await ask(path, { reason: why }))
      const took = Math.round(performance.now() - began)
      dialog.close()
      show(outcome, bannerFrom(told, took))
      outcome.hidden = false
      outcome.focus()
      announce([...outcome.querySelectorAll('p')].map((each) => each.textContent).join(' '))
    } catch (error) {
      fault.textContent = error instanceof Error ? error.message : String(error)
    } finally {
      submit.disabled = false
    }
  }
  what.addEventListener('change', refresh)
  reason.addEventListener('input', refresh)
  there('rollback-form', HTMLFormElement).addEventListener('submit', (event) => {
    event.preventDefault()
    void go()
  })
  return {
    /**
     * Asks for a reason and for Enter. Without a layer: the one that moves, else all that are out.
     * @param {string} [layer]
     */
    open(layer) {
      const all = out()
      if (state.viewer?.role !== 'operator') return say('This token may look, and change nothing.')
      if (all.length === 0) return say('Every layer is in the gateway already.')
      show(what, [
        ...all.map(({ name, said }) => h('option', { value: name, key: name }, `${name} (${said})`)),
        h(
          'option',
          { value: 'all', key: 'all' },
          all.length === 1 ? 'every layer' : `every layer: ${all.map(({ name }) => name).join(', ')}`,
        ),
      ])
      what.value = layer ?? all.find(({ stage }) => stage === 'canary' || stage === 'shadow')?.name ?? 'all'
      reason.value = defaultReason(state.snapshot)
      who.value = session.name || state.viewer.name
      there('rollback-who-row', HTMLElement).hidden = state.viewer.verified
      fault.textContent = ''
      refresh()
      dialog.showModal()
      reason.focus()
      reason.select()
    },
  }
}

/** @param {Snapshot | undefined} snapshot */
function defaultReason(snapshot) {
  const worst = snapshot?.findings.find(({ severity }) => severity === 'bad')
  return worst ? `on call: ${worst.words}`.slice(0, 300) : 'on call: taken back while we look'
}

/** @param {string} layer @param {Snapshot['layers']} out */
function doesWhat(layer, out) {
  const going = out.filter(({ name }) => layer === 'all' || name === layer)
  const from = going.map(({ name, said }) => `${name} from ${said}`).join(', ')
  const along = layer !== 'all' && out.length > 1 ? ' Layers that could not stay out alone come along.' : ''
  return `Takes ${from} back to the gateway on every replica, from the next call on, within about a second and a half. Calls under way end as they began. It may be repeated.${along}`
}

/** @param {Outcome} outcome @param {number} took */
function bannerFrom({ changes, confirmed }, took) {
  const missing = confirmed?.missing ?? []
  const done =
    changes.length > 0
      ? `Rolled back: ${changes.map(({ layer: name, from }) => `${name}, from ${from}`).join('; ')}.`
      : 'It was in the gateway already.'
  return [
    h(
      'p',
      { class: missing.length > 0 ? 'bad' : 'good' },
      h('b', {}, done),
      ' ',
      confirmed &&
        h(
          'span',
          { class: 'confirmed' },
          `Confirmed by ${confirmed.confirmed} of ${confirmed.of} ${confirmed.of === 1 ? 'replica' : 'replicas'} in ${took} ms.`,
        ),
    ),
    missing.length > 0 &&
      h(
        'p',
        {},
        `Not yet: ${missing.join(', ')}. They are told again until they have it. What cannot be reached at all, take out of the balancer.`,
      ),
    changes[0] && h('p', { class: 'who' }, `${changes[0].actor}: ${changes[0].reason}`),
    h('button', { type: 'button', class: 'small quiet', 'data-dismiss': true }, 'Dismiss'),
  ].filter((each) => each !== false && each !== undefined)
}
