/** What a text is made of, beside its words. */
export interface TextShape {
  /** The text is JSON: names of its members with their kinds, sorted; undefined when it is none. */
  readonly json: readonly string[] | undefined
  /** Languages of its code fences, in order. */
  readonly fences: readonly string[]
  /** Kinds of its markdown lines in order, runs as one: heading, bullet, number, quote, table. */
  readonly skeleton: readonly string[]
  /** The script that most of its letters are of. */
  readonly script: string
}

/** The parts of a shape that are compared. */
export const shapeParts = ['json', 'fences', 'skeleton', 'script'] as const

/** Longer texts are looked at up to here, in UTF-16 code units. */
const longest = 262_144

/** The shape of a text. */
export function shapeOf(text: string): TextShape {
  const cut = text.slice(0, longest)
  const fences = [...cut.matchAll(/^ {0,3}(?:```|~~~)[ \t]*([\w+#.-]*)/gm)].map(([, language = '']) => language)
  return {
    json: jsonKeys(cut),
    // Every second one only closes.
    fences: fences.filter((_, index) => index % 2 === 0),
    skeleton: skeletonOf(cut),
    script: scriptOf(cut),
  }
}

/** The parts in which two shapes differ. */
export function shapeDifferences(old: TextShape, now: TextShape): readonly (typeof shapeParts)[number][] {
  return shapeParts.filter((part) => JSON.stringify(old[part]) !== JSON.stringify(now[part]))
}

function jsonKeys(text: string): readonly string[] | undefined {
  if (!/^\s*[{[]/.test(text)) return undefined
  try {
    const keys = new Set<string>()
    collectKeys(JSON.parse(text), { path: '', depth: 0 }, keys)
    return [...keys].sort()
  } catch {
    return undefined
  }
}

const mostKeys = 1_000
const deepest = 100

interface Place {
  readonly path: string
  readonly depth: number
}

/** Names of members of a JSON value with their kinds, as far as a hundred levels down; items of lists are one. */
export function collectKeys(value: unknown, { path, depth }: Place, keys: Set<string>): void {
  if (keys.size >= mostKeys || depth > deepest) return
  const inside = (key: string): Place => ({ path: path + key, depth: depth + 1 })
  if (Array.isArray(value)) for (const item of value) collectKeys(item, inside('[*]'), keys)
  else if (value !== null && typeof value === 'object') {
    for (const [key, member] of Object.entries(value)) collectKeys(member, inside(`.${key}`), keys)
  }
  keys.add(`${path}:${Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value}`)
}

const lineKinds: readonly (readonly [string, RegExp])[] = [
  ['heading', /^ {0,3}#{1,6} /],
  ['bullet', /^\s*[-*+•] /],
  ['number', /^\s*\d{1,3}[.)、] ?/],
  ['quote', /^ {0,3}>/],
  ['table', /^\s*\|.*\|/],
]

function skeletonOf(text: string): readonly string[] {
  const kinds: string[] = []
  for (const line of text.split('\n')) {
    const kind = lineKinds.find(([, form]) => form.test(line))?.[0]
    if (kind && kinds.at(-1) !== kind) kinds.push(kind)
    else if (!kind && line.trim() !== '' && kinds.at(-1) !== 'text') kinds.push('text')
  }
  return kinds
}

const scripts: readonly (readonly [string, RegExp])[] = [
  ['latin', /\p{Script=Latin}/gu],
  ['han', /\p{Script=Han}/gu],
  ['kana', /[\p{Script=Hiragana}\p{Script=Katakana}]/gu],
  ['hangul', /\p{Script=Hangul}/gu],
  ['cyrillic', /\p{Script=Cyrillic}/gu],
  ['arabic', /\p{Script=Arabic}/gu],
  [
    'other',
    /[^\P{L}\p{Script=Latin}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Cyrillic}\p{Script=Arabic}]/gu,
  ],
]
const sample = 4_096

function scriptOf(text: string): string {
  const start = text.slice(0, sample)
  let [most, script] = [0, 'none']
  for (const [name, pattern] of scripts) {
    const count = start.match(pattern)?.length ?? 0
    if (count > most) [most, script] = [count, name]
  }
  return script
}
