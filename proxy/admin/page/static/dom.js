/**
 * A picture of an element: what `h` makes, and `show` turns into elements or changes elements into.
 * @typedef {{ tag: string, props: Record<string, unknown>, inside: (Picture | string)[] }} Picture
 * @typedef {Picture | string | number | null | undefined | false} Inside
 */

const svgTags = new Set(['svg', 'path', 'line', 'circle', 'rect', 'g'])

/**
 * A picture of an element. Attributes by name; `true` stands for an empty one, false, null and undefined for none.
 * @param {string} tag
 * @param {Record<string, unknown>} [props]
 * @param {...(Inside | Inside[])} inside
 * @returns {Picture}
 */
export function h(tag, props = {}, ...inside) {
  const shown = inside.flat().flatMap((each) => {
    if (each === null || each === undefined || each === false || each === '') return []
    return [typeof each === 'object' ? each : String(each)]
  })
  return { tag, props, inside: shown }
}

/**
 * Makes what is inside an element look like the pictures. Elements that stay the same are kept, and with them focus, selection and
 * what a screen reader is reading; those with a `key` are known by it.
 * @param {Element} element
 * @param {(Picture | string)[]} pictures
 */
export function show(element, pictures) {
  const keyed = new Map()
  for (const child of element.children) if (keyOf(child)) keyed.set(keyOf(child), child)
  let next = element.firstChild
  for (const picture of pictures) {
    const found = typeof picture === 'object' && picture.props['key'] ? keyed.get(picture.props['key']) : undefined
    const kept = found ?? (next && fits(next, picture) ? next : undefined)
    const node = kept ?? made(picture)
    if (node === next) next = next?.nextSibling ?? null
    else element.insertBefore(node, next)
    if (kept) change(node, picture)
  }
  while (next) {
    const after = next.nextSibling
    next.remove()
    next = after
  }
}

/** @param {Node} node */
const keyOf = (node) => (node instanceof Element ? node.getAttribute('data-key') : null)

/** @param {Node} node @param {Picture | string} picture */
function fits(node, picture) {
  if (typeof picture === 'string') return node.nodeType === Node.TEXT_NODE
  if (!(node instanceof Element) || node.localName !== picture.tag) return false
  return (keyOf(node) ?? undefined) === picture.props['key']
}

/** @param {Picture | string} picture @returns {Node} */
function made(picture) {
  if (typeof picture === 'string') return document.createTextNode(picture)
  const element = svgTags.has(picture.tag)
    ? document.createElementNS('http://www.w3.org/2000/svg', picture.tag)
    : document.createElement(picture.tag)
  change(element, picture)
  return element
}

/** @param {Node} node @param {Picture | string} picture */
function change(node, picture) {
  if (typeof picture === 'string') {
    if (node.nodeValue !== picture) node.nodeValue = picture
    return
  }
  const element = /** @type {Element} */ (node)
  const { key, ...props } = picture.props
  const wanted = new Map(Object.entries(key === undefined ? props : { ...props, 'data-key': key }))
  // What people have opened or typed stays as they left it.
  const theirs = element instanceof HTMLDetailsElement ? ['open'] : []
  for (const name of element.getAttributeNames())
    if (!theirs.includes(name) && !isThere(wanted.get(name))) element.removeAttribute(name)
  for (const [name, value] of wanted) {
    const text = value === true ? '' : String(value)
    if (isThere(value) && element.getAttribute(name) !== text) element.setAttribute(name, text)
  }
  show(element, picture.inside)
}

/** @param {unknown} value */
const isThere = (value) => value !== undefined && value !== null && value !== false

/**
 * An element of the page that is always there.
 * @template {HTMLElement} E
 * @param {string} id
 * @param {new () => E} kind
 * @returns {E}
 */
export function there(id, kind) {
  const element = document.getElementById(id)
  if (element instanceof kind) return element
  throw new TypeError(`the page has no ${id}`)
}
