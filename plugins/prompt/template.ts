import { canonicalJson } from '../canonical.ts'
import { gatewayError } from '../errors.ts'
import { absent } from '../path.ts'

/** A piece of a template: text as it stands, a variable, or a section. */
type Node =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'value'; readonly name: string }
  | { readonly kind: 'if'; readonly name: string; readonly yes: readonly Node[]; readonly no: readonly Node[] }

/** A compiled template. */
export interface Template {
  readonly nodes: readonly Node[]
  /** Every name it mentions, once each. */
  readonly names: readonly string[]
  /** Those of them whose value it shows, and not only asks for. */
  readonly shown: readonly string[]
}

/** Looks a name up; {@link absent} when it has no value. */
export type Lookup = (name: string) => unknown

const deepest = 20
// A backslash before the braces writes them as they are.
const tag = /\\?\{\{([^{}]*)\}\}/g
const nameForm = /^[A-Za-z_][\w-]*(?:\.[\w-]+)*$/

/**
 * Compiles `{{ name }}`, `{{#if name}}…{{else}}…{{/if}}` and nothing else. Throws `config_invalid` saying what is wrong.
 */
export function compileTemplate(text: string): Template {
  const names: Names = { all: new Set(), shown: new Set() }
  const stack: Open[] = [{ name: '', yes: [], no: undefined }]
  let at = 0
  for (const match of text.matchAll(tag)) {
    const [whole, inner = ''] = match
    if (whole.startsWith('\\')) {
      pushText(stack, text.slice(at, match.index) + whole.slice(1))
      at = match.index + whole.length
      continue
    }
    const edges = tagEdges(text, match.index, match.index + whole.length, /^\s*(?:#|\/|else\s*$)/.test(inner))
    pushText(stack, checked(text.slice(at, Math.max(at, edges.start))))
    pushTag(stack, inner.trim(), names)
    at = edges.end
  }
  pushText(stack, checked(text.slice(at)))
  if (stack.length > 1) throw wrong(`{{#if ${stack.at(-1)?.name}}} is never closed`)
  return { nodes: (stack[0] as Open).yes, names: [...names.all], shown: [...names.shown] }
}

interface Names {
  readonly all: Set<string>
  readonly shown: Set<string>
}

interface Open {
  readonly name: string
  readonly yes: Node[]
  no: Node[] | undefined
}

function pushText(stack: readonly Open[], text: string): void {
  if (text !== '') push(stack, { kind: 'text', text })
}

function push(stack: readonly Open[], node: Node): void {
  const top = stack.at(-1) as Open
  const branch = top.no ?? top.yes
  branch.push(node)
}

function pushTag(stack: Open[], inner: string, names: Names): void {
  const [, section] = /^#if\s+(\S+)$/.exec(inner) ?? []
  const top = stack.at(-1) as Open
  const inside = stack.length > 1
  if (section !== undefined) {
    if (stack.length > deepest) throw wrong(`sections are nested deeper than ${deepest}`)
    names.all.add(named(section))
    stack.push({ name: section, yes: [], no: undefined })
  } else if (inner === 'else') {
    if (!inside || top.no) throw wrong('{{else}} stands outside of a section')
    top.no = []
  } else if (inner === '/if') {
    if (!inside) throw wrong('{{/if}} closes nothing')
    stack.pop()
    push(stack, { kind: 'if', name: top.name, yes: top.yes, no: top.no ?? [] })
  } else {
    names.all.add(named(inner))
    names.shown.add(inner)
    push(stack, { kind: 'value', name: inner })
  }
}

/** A section tag alone on its line takes the line with it, as people expect. */
function tagEdges(text: string, from: number, to: number, section: boolean): { start: number; end: number } {
  if (!section) return { start: from, end: to }
  let start = from
  while (text[start - 1] === ' ' || text[start - 1] === '\t') start--
  let end = to
  while (text[end] === ' ' || text[end] === '\t' || text[end] === '\r') end++
  const alone = (start === 0 || text[start - 1] === '\n') && (end === text.length || text[end] === '\n')
  return alone ? { start, end: Math.min(end + 1, text.length) } : { start: from, end: to }
}

function checked(text: string): string {
  if (text.includes('{{')) throw wrong('{{ is never closed; write \\{{…}} for braces as they are')
  return text
}

function named(name: string): string {
  if (!nameForm.test(name))
    throw wrong(`"${name}" is not a variable; there are {{name}}, {{#if name}}, {{else}}, {{/if}}`)
  return name
}

function wrong(what: string): Error {
  return gatewayError('config_invalid', `template: ${what}`)
}

/**
 * The text of a template, in one pass: what a value holds is never expanded again. Throws `missing_variable` naming the first variable
 * that has no value.
 */
export function renderTemplate(template: Template, lookup: Lookup): string {
  return renderNodes(template.nodes, lookup)
}

function renderNodes(nodes: readonly Node[], lookup: Lookup): string {
  let text = ''
  for (const node of nodes) {
    if (node.kind === 'text') text += node.text
    else if (node.kind === 'if') text += renderNodes(holds(lookup(node.name)) ? node.yes : node.no, lookup)
    else text += textOfValue(node.name, lookup(node.name))
  }
  return text
}

/** Absent, null, false, 0, the empty text and the empty list are what a section takes for no. */
function holds(value: unknown): boolean {
  return value !== absent && Boolean(value) && !(Array.isArray(value) && value.length === 0)
}

function textOfValue(name: string, value: unknown): string {
  if (value === absent) throw gatewayError('missing_variable', `variable "${name}" has no value`, { field: name })
  return typeof value === 'string' ? value : canonicalJson(value)
}
