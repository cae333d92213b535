import { createCodeTracker } from './code-tracker.ts'

/** Which tags a model's thoughts and answers come in; names without brackets, compared without regard to ASCII case. */
export interface TagRules {
  /** Removed together with what they enclose. */
  readonly drop: readonly string[]
  /** Removed, and what they enclose is kept. */
  readonly unwrap: readonly string[]
  /** The answer begins inside the first `drop` tag, since the prompt template of the model has opened it already. */
  readonly startsInside: boolean
}

/** Takes tags out of a text that arrives in pieces. Holds back only what may become a tag. */
export interface TagFilter {
  push(piece: string): string
  end(): string
}

interface Tag {
  readonly name: string
  readonly closes: boolean
  readonly length: number
}

/** The longest stretch after an opened tag name that still belongs to the tag, and the longest code span on one line, in UTF-16 code units. */
const longest = { attributes: 64, span: 200 } as const

/**
 * Makes a {@link TagFilter}. Tags in fenced code and in code spans stay (CommonMark §4.5, §6.1; a span is taken to end with its line). A
 * tag that is dropped and never closed drops the rest. White space is removed where nothing visible came before a removed tag.
 */
export function createTagFilter(rules: TagRules): TagFilter {
  const names = [...rules.drop, ...rules.unwrap].map((name) => name.toLowerCase())
  const drops = new Set(rules.drop.map((name) => name.toLowerCase()))
  const code = createCodeTracker()
  let held = ''
  let dropping = rules.startsInside ? rules.drop[0]?.toLowerCase() : undefined
  let visible = false
  let trimming = dropping !== undefined
  const show = (text: string): string => {
    code.see(text)
    const shown = trimming ? text.trimStart() : text
    if (shown === '') return ''
    trimming = false
    visible = true
    return shown
  }
  const pass = (tag: Tag): void => {
    if (dropping === undefined && drops.has(tag.name) && !tag.closes) dropping = tag.name
    else if (dropping === tag.name && tag.closes) dropping = undefined
    if (!visible) trimming = true
  }
  /** What to do with the `<` at `at`: a tag to take out, a length to let through, or undefined to wait for more. */
  const judge = (text: string, at: number, final: boolean): Tag | number | undefined => {
    const tag = tagAt(text, at, names)
    if (tag === 'open') return final ? 1 : undefined
    if (tag === undefined || code.fenced) return 1
    if (dropping !== undefined || code.span === 0) return tag
    const closing = spanEnd(text, at, { ticks: code.span, final })
    if (closing === -1) code.leaveSpan()
    return closing === undefined ? undefined : closing === -1 ? tag : closing - at
  }
  const take = (piece: string, final: boolean): string => {
    const text = held + piece
    held = ''
    let out = ''
    let at = 0
    while (at < text.length) {
      const bracket = text.indexOf('<', at)
      const to = bracket < 0 ? text.length : bracket
      if (dropping === undefined && to > at) out += show(text.slice(at, to))
      at = to
      if (bracket < 0) break
      const found = judge(text, at, final)
      if (found === undefined) {
        held = text.slice(at)
        break
      }
      if (typeof found === 'object') pass(found)
      else if (dropping === undefined) out += show(text.slice(at, at + found))
      at += typeof found === 'object' ? found.length : found
    }
    return out
  }
  return { push: (piece) => take(piece, false), end: () => take('', true) }
}

/** The tag at a `<`; `open` when more text may make it one; undefined when it is none. */
function tagAt(text: string, at: number, names: readonly string[]): Tag | 'open' | undefined {
  const closes = text[at + 1] === '/'
  const from = at + (closes ? 2 : 1)
  const name = /^[A-Za-z0-9_-]*/.exec(text.slice(from, from + 64))?.[0].toLowerCase() ?? ''
  const after = from + name.length
  if (after === text.length) return names.some((each) => each.startsWith(name)) ? 'open' : undefined
  if (!names.includes(name)) return undefined
  if (text[after] === '>') return { name, closes, length: after + 1 - at }
  if (!/\s/.test(text[after] as string)) return undefined
  const rest = text.slice(after, after + longest.attributes)
  const end = rest.search(/[<>]/)
  if (end >= 0) return rest[end] === '>' ? { name, closes, length: after + end + 1 - at } : undefined
  return rest.length < longest.attributes ? 'open' : undefined
}

/** Where the code span that is open at `at` ends; -1 when it does not end on its line; undefined when that is not to be seen yet. */
function spanEnd(text: string, at: number, span: { ticks: number; final: boolean }): number | undefined {
  const near = text.slice(at, at + longest.span)
  for (const { 0: run, index } of near.matchAll(/`+|\n/g)) {
    const end = index + run.length
    if (run === '\n') return -1
    if (end === near.length && near.length < longest.span && !span.final) return undefined
    if (run.length === span.ticks) return at + index
  }
  return near.length < longest.span && !span.final ? undefined : -1
}
