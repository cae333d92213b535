import { there } from './dom.js'

const offKey = 'foldgate-keys-off'

/**
 * One-letter keys, as the page says under `?`. They do nothing while somebody types, with a modifier, or where they are turned off.
 * @param {Record<string, () => void>} actions by key
 */
export function createKeys(actions) {
  const box = there('keys-on', HTMLInputElement)
  box.checked = sessionStorage.getItem(offKey) === null
  box.addEventListener('change', () => {
    if (box.checked) sessionStorage.removeItem(offKey)
    else sessionStorage.setItem(offKey, '1')
  })
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || isTyping(event.target)) return
    if (document.querySelector('dialog[open]')) return
    const action = actions[event.key]
    if (!action || (!box.checked && event.key !== '?')) return
    event.preventDefault()
    action()
  })
}

/** @param {EventTarget | null} target */
function isTyping(target) {
  return target instanceof HTMLElement && (target.matches('input, select, textarea') || target.isContentEditable)
}

/** Goes from one layer to the next, or back: the focus is on its row then. */
export function stepThroughLayers(/** @type {1 | -1} */ by) {
  const rows = [...document.querySelectorAll('li[data-layer]')].filter((row) => row instanceof HTMLElement)
  const at = rows.findIndex((row) => row.contains(document.activeElement))
  const next = at < 0 ? (by === 1 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by))
  rows[next]?.focus()
}

/** The layer whose row has the focus. */
export function layerInFocus() {
  const row = document.activeElement?.closest('li[data-layer]')
  return row?.querySelector('[data-rollback]') ? (row.getAttribute('data-layer') ?? undefined) : undefined
}
