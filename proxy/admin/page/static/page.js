import { commandFor } from './command.js'
import { show, there } from './dom.js'
import { figures } from './figures.js'
import { judged } from './judged.js'
import { createKeys, layerInFocus, stepThroughLayers } from './keys.js'
import { changes, findings, next } from './lists.js'
import { explainCall, readRunbook } from './reader.js'
import { createRollback } from './rollback.js'
import { session } from './session.js'
import { isOut, replicasLine, stack } from './stack.js'
import { listen } from './stream.js'
import { age } from './words.js'

/**
 * @typedef {import('../page-snapshot.ts').PageSnapshot} Snapshot
 * @typedef {import('../page-snapshot.ts').PageViewer} Viewer
 */

/** @type {{ snapshot: Snapshot | undefined, viewer: Viewer | undefined }} */
const state = { snapshot: undefined, viewer: undefined }
const main = there('main', HTMLElement)
const live = there('live', HTMLElement)
const tokenForm = there('token', HTMLFormElement)
const tokenInput = there('token-input', HTMLInputElement)

/** For people who do not see the page: only what they would want to be interrupted by. */
const announce = (/** @type {string} */ words) => {
  there('say', HTMLElement).textContent = words
}
/** For everybody, for a moment. */
const say = (/** @type {string} */ words) => {
  announce(words)
  const toast = there('toast', HTMLElement)
  toast.textContent = words
  toast.classList.add('shown')
  clearTimeout(toasting)
  toasting = setTimeout(() => toast.classList.remove('shown'), 4_000)
}
/** @type {ReturnType<typeof setTimeout> | undefined} */
let toasting
const rollback = createRollback(state, { say, announce })

/** @param {string} id @param {import('./dom.js').Picture[]} pictures */
const fill = (id, pictures) => show(there(id, HTMLElement), pictures)

function draw() {
  const { snapshot, viewer } = state
  if (!snapshot) return
  const { gateway, at, layers, findings: found } = snapshot
  fill('findings', findings(snapshot))
  fill('figures', figures(snapshot))
  fill('stack', stack(snapshot, viewer))
  fill('judged', judged(snapshot))
  fill('changes', changes(snapshot))
  fill('next', next(snapshot))
  const pill = there('state', HTMLElement)
  pill.textContent = gateway.state
  pill.className = `pill ${gateway.state === 'ok' ? 'good' : gateway.state === 'degraded' ? 'bad' : 'warn'}`
  there('facts', HTMLElement).textContent =
    `${gateway.version}, up ${age(gateway.startedAt, at)}, config ${gateway.config}, store ${gateway.store.kind} ${gateway.store.up ? 'up' : 'down'}`
  there('replicas', HTMLElement).textContent = replicasLine(snapshot.replicas)
  there('who', HTMLElement).textContent = viewer ? `${viewer.name}, ${viewer.role}` : ''
  there('forget', HTMLElement).hidden = !session.token
  const operator = viewer?.role === 'operator'
  there('all', HTMLElement).hidden = !operator || !layers.some(isOut)
  there('stop-words', HTMLElement).textContent = stopWords(operator, layers.some(isOut))
  there('stop-command', HTMLElement).textContent = commandFor('all', viewer)
  there('stop-copy', HTMLElement).setAttribute('data-copy', commandFor('all', viewer))
  document.title = `${found.length > 0 ? `(${found.length}) ` : ''}${gateway.state === 'ok' ? '' : `${gateway.state} `}Foldgate ${location.host}`
  main.hidden = false
}

/** @param {boolean} operator @param {boolean} someOut */
function stopWords(operator, someOut) {
  if (!someOut) return 'Every layer is in the gateway; there is nothing to take back.'
  return operator ? '' : 'This token may look only. Who may change things asks for:'
}

/** @param {Snapshot | undefined} before @param {Snapshot} now */
function tell(before, now) {
  if (!before) return
  const moved = now.layers.filter((layer, at) => layer.said !== before.layers[at]?.said)
  const bad = now.findings.filter(
    ({ id, severity }) => severity === 'bad' && !before.findings.some((each) => each.id === id),
  )
  const words = [
    ...moved.map(({ name, said }) => `${name} is ${said === 'rolled-back' ? 'rolled back' : said}.`),
    ...bad.map(({ words: each }) => `${each}.`),
  ]
  if (words.length > 0) announce(words.join(' '))
}

/** @type {{ stop(): void } | undefined} */
let listening
function start() {
  listening?.stop()
  listening = listen({
    token: () => session.token,
    event(name, data) {
      tokenForm.hidden = true
      live.className = 'live on'
      live.textContent = 'live'
      main.classList.remove('stale')
      if (name === 'viewer') state.viewer = /** @type {Viewer} */ (data)
      if (name !== 'snapshot') return
      const before = state.snapshot
      state.snapshot = /** @type {Snapshot} */ (data)
      draw()
      tell(before, state.snapshot)
    },
    closed(why) {
      live.className = 'live off'
      live.textContent = `${why}; trying again. What you see is of ${state.snapshot ? new Date(state.snapshot.at).toLocaleTimeString() : 'never'}`
      if (!main.classList.contains('stale')) announce(`No connection: ${why}.`)
      main.classList.add('stale')
    },
    refused(why) {
      state.snapshot = undefined
      state.viewer = undefined
      main.hidden = true
      live.className = 'live off'
      live.textContent = 'a token is needed'
      there('token-fault', HTMLElement).textContent = why
      tokenForm.hidden = false
      tokenInput.focus()
    },
  })
}

tokenForm.addEventListener('submit', (event) => {
  event.preventDefault()
  session.token = tokenInput.value.trim()
  tokenInput.value = ''
  start()
})
there('forget', HTMLElement).addEventListener('click', () => {
  session.token = null
  start()
})
there('explain', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault()
  const id = there('explain-id', HTMLInputElement).value.trim()
  if (id) void explainCall(id)
})

/** @param {HTMLElement} element @param {MouseEvent} event */
function act(element, event) {
  const { rollback: layer, copy, explain, read, dismiss, close, open } = element.dataset
  if (layer !== undefined) rollback.open(layer)
  if (copy !== undefined)
    void navigator.clipboard?.writeText(copy).then(
      () => say(`Copied: ${copy}`),
      () => say(copy),
    )
  if (explain !== undefined) void explainCall(explain)
  if (read !== undefined) {
    event.preventDefault()
    void readRunbook(read)
  }
  if (dismiss !== undefined) there('outcome', HTMLElement).hidden = true
  if (close !== undefined) element.closest('dialog')?.close()
  if (open !== undefined) there(open, HTMLDialogElement).showModal()
}
const acting = '[data-rollback], [data-copy], [data-explain], [data-read], [data-dismiss], [data-close], [data-open]'
document.addEventListener('click', (event) => {
  const element = event.target instanceof Element ? event.target.closest(acting) : null
  if (element instanceof HTMLElement && !(element instanceof HTMLLIElement)) act(element, event)
})

createKeys({
  r: () => rollback.open(layerInFocus()),
  R: () => rollback.open('all'),
  j: () => stepThroughLayers(1),
  k: () => stepThroughLayers(-1),
  e: () => there('explain-id', HTMLInputElement).focus(),
  '?': () => there('keys', HTMLDialogElement).showModal(),
})
start()
