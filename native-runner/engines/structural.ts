import { randomInt } from 'node:crypto'
import type { Attributes, Model } from './native.ts'

/** A token that structures a prompt (turns, roles, ends) and the text that stands for it. */
export interface StructuralToken {
  readonly token: number
  readonly text: string
  /** Whether the token swallows the white space before or after it. */
  readonly lstrip: boolean
  readonly rstrip: boolean
}

/** Tells structural tokens in rendered prompts from the same text written by a user. */
export interface Structural {
  /** Characters of the longest token of the whole vocabulary. */
  readonly longest: number
  /** Tokens in the vocabulary. */
  readonly size: number
  /** The same value with every structural text in its strings broken by a mark, so that it is only text. */
  broken<T>(value: T): T
  /** A rendered prompt as a list of structural tokens and plain texts (in parts, where a mark stood). */
  parts(rendered: string): (StructuralToken | readonly string[])[]
}

// Eight characters of the private use area: no user can guess them, no letter case applies to them.
const mark = Array.from({ length: 8 }, () => String.fromCharCode(0xe000 + randomInt(0x1900))).join('')

function isStructural(kind: Attributes, text: string, template: string): boolean {
  if (text.length < 2) return false
  if (kind.control || kind.unknown) return true
  // Added tokens such as <tool_call> are ordinary words unless the template itself speaks in them.
  return kind.userDefined && /^[<[].*[>\]]$/s.test(text) && template.includes(text)
}

function scan(model: Model, template: string) {
  const found = new Map<string, StructuralToken>()
  let longest = 1
  let size = 0
  for (const token of model.iterateAllTokens()) {
    size++
    const text = model.detokenize([token], true)
    longest = Math.max(longest, text.length)
    const kind = model.getTokenAttributes(token)
    if (isStructural(kind, text, template)) found.set(text, { token, text, lstrip: kind.lstrip, rstrip: kind.rstrip })
  }
  return { found, longest, size }
}

type Finder = (text: string, from: number) => { at: number; token: StructuralToken } | undefined

/** Finds the next structural text, the longest one where several begin. */
function createFinder(found: ReadonlyMap<string, StructuralToken>): Finder {
  const lengths = new Map<string, number[]>()
  for (const text of found.keys()) lengths.set(text[0]!, [...(lengths.get(text[0]!) ?? []), text.length])
  for (const [first, list] of lengths)
    lengths.set(
      first,
      [...new Set(list)].sort((a, b) => b - a),
    )
  return (text, from) => {
    for (let at = from; at < text.length; at++) {
      for (const length of lengths.get(text[at]!) ?? []) {
        const token = found.get(text.slice(at, at + length))
        if (token) return { at, token }
      }
    }
    return undefined
  }
}

function brokenText(text: string, find: Finder): string {
  let out = ''
  let from = 0
  for (let hit = find(text, 0); hit; hit = find(text, from)) {
    out += text.slice(from, hit.at + 1) + mark
    from = hit.at + 1
  }
  return out + text.slice(from)
}

function brokenValue(value: unknown, find: Finder): unknown {
  if (typeof value === 'string') return brokenText(value, find)
  if (Array.isArray(value)) return value.map((item) => brokenValue(item, find))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [brokenText(key, find), brokenValue(item, find)]),
  )
}

/** Reads a model's vocabulary for the tokens that its chat template structures prompts with. */
export function createStructural(model: Model, template: string): Structural {
  const { found, longest, size } = scan(model, template)
  const find = createFinder(found)
  return {
    longest,
    size,
    broken: <T>(value: T) => brokenValue(value, find) as T,
    parts(rendered) {
      const parts: (StructuralToken | readonly string[])[] = []
      let from = 0
      let before: StructuralToken | undefined
      const addText = (raw: string, after: StructuralToken | undefined): void => {
        const left = before?.rstrip ? raw.trimStart() : raw
        const text = after?.lstrip ? left.trimEnd() : left
        if (text) parts.push(text.split(mark))
      }
      for (let hit = find(rendered, 0); hit; hit = find(rendered, from)) {
        addText(rendered.slice(from, hit.at), hit.token)
        parts.push(hit.token)
        before = hit.token
        from = hit.at + hit.token.text.length
      }
      addText(rendered.slice(from), undefined)
      return parts
    },
  }
}
