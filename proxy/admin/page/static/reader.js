import { h, show, there } from './dom.js'
import { ask } from './session.js'
import { ms } from './words.js'

/**
 * @typedef {import('../../stories.ts').CallStory} Story
 * @typedef {import('./dom.js').Picture} Picture
 */

const dialog = there('reader', HTMLDialogElement)
const title = there('reader-title', HTMLHeadingElement)
const text = there('reader-text', HTMLElement)

/** @param {string} name @param {(Picture | string)[]} pictures */
function open(name, pictures) {
  title.textContent = name
  show(text, pictures)
  if (!dialog.open) dialog.showModal()
  text.scrollTop = 0
  text.focus()
}

/** @param {string} name @param {() => Promise<Picture[]>} make */
async function opened(name, make) {
  try {
    open(name, await make())
  } catch (error) {
    open(name, [h('p', { class: 'fault' }, error instanceof Error ? error.message : String(error))])
  }
}

/**
 * Shows a runbook that the gateway has with it.
 * @param {string} name
 */
export function readRunbook(name) {
  return opened(`Runbook: ${name.replaceAll('-', ' ')}`, async () => {
    const answer = await fetch(new URL(`-/page/runbooks/${encodeURIComponent(name)}`, document.baseURI))
    if (!answer.ok) throw new TypeError('this gateway has no such runbook')
    return fromMarkdown(await answer.text())
  })
}

/**
 * Shows what became of a call, by its request id.
 * @param {string} id
 */
export function explainCall(id) {
  return opened(`Call ${id}`, async () => {
    const story = /** @type {Story} */ (await ask(`-/explain?id=${encodeURIComponent(id)}`))
    return fromStory(story)
  })
}

/** @param {Story} story @returns {Picture[]} */
function fromStory({ route, status, source, error, at, totalMs, firstByteMs, runnerMs, layers, attempts, fold }) {
  /** @type {[string, string | undefined][]} */
  const facts = [
    ['ended', `${status} from the ${source}, ${route}, ${new Date(at).toLocaleString()}`],
    ['error', error],
    [
      'took',
      `${ms(totalMs)}${firstByteMs === undefined ? '' : `, first byte after ${ms(firstByteMs)}`}${runnerMs === undefined ? '' : `, runner ${ms(runnerMs)}`}`,
    ],
    ['fell back', fold?.reason],
  ]
  return [
    h(
      'dl',
      {},
      facts.flatMap(([name, said]) => (said ? [h('dt', {}, name), h('dd', {}, said)] : [])),
    ),
    tableOf(
      ['layer', 'verdict', 'here', 'decided in', 'at the runner'],
      layers.map(({ name, verdict, mode, decideMs }) => [
        name,
        verdict,
        mode,
        ms(decideMs),
        fold?.layers.find((each) => each.name === name)?.outcome ?? '–',
      ]),
    ),
    tableOf(
      ['runner', 'model', 'after', 'took', 'answered'],
      attempts.map(({ runner, model, startMs, endMs, status: said, error: why }) => [
        runner,
        model,
        ms(startMs),
        endMs === undefined ? '–' : ms(endMs - startMs),
        why ?? String(said ?? '–'),
      ]),
    ),
  ]
}

/** @param {string[]} head @param {string[][]} rows */
function tableOf(head, rows) {
  if (rows.length === 0) return h('p', { class: 'none' }, `no ${head[0]}`)
  return h(
    'table',
    {},
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        head.map((each) => h('th', { scope: 'col' }, each)),
      ),
    ),
    h(
      'tbody',
      {},
      rows.map((row) =>
        h(
          'tr',
          {},
          row.map((each) => h('td', {}, each)),
        ),
      ),
    ),
  )
}

/**
 * As much of Markdown as runbooks use: headings, code, lists, paragraphs; the rest stays as it is written.
 * @param {string} source
 * @returns {Picture[]}
 */
function fromMarkdown(source) {
  return source.split(/(^```[\s\S]*?^```)/m).flatMap((part) => {
    const code = /^```\w*\n([\s\S]*?)\n?```$/.exec(part)
    if (code) return [h('pre', { tabindex: 0 }, code[1] ?? '')]
    return part.split(/\n{2,}/).flatMap((block) => blockFrom(block.trim()))
  })
}

/** @param {string} block @returns {Picture[]} */
function blockFrom(block) {
  if (block === '') return []
  const heading = /^(#+) (.+)$/m.exec(block)
  if (heading)
    return [
      h(heading[1] === '#' ? 'h3' : 'h4', heading[1] === '#' ? { class: 'reader-head' } : {}, heading[2] ?? ''),
      ...blockFrom(block.slice(heading[0].length + heading.index).trim()),
    ]
  if (/^\|/.test(block)) return [h('pre', { tabindex: 0 }, block)]
  const items = block.split(/^(?:[*-]|\d+\.) /m)
  if (items.length > 1)
    return [
      ...(items[0] ? [h('p', {}, inline(items[0]))] : []),
      h(
        'ul',
        {},
        items.slice(1).map((item) => h('li', {}, inline(item))),
      ),
    ]
  return [h('p', {}, inline(block))]
}

/** @param {string} source */
function inline(source) {
  return source
    .replace(/\[([^\]]+)\]\([^)]+\)/g, '$1')
    .split(/(`[^`]+`)/)
    .map((each) => (each.startsWith('`') ? h('code', {}, each.slice(1, -1)) : each.replaceAll('**', '')))
}
