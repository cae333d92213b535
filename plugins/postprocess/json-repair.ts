import { parsedJson, withoutFence } from './json-text.ts'

/**
 * The JSON text that a broken one was most likely meant to be: without prose and fences around it, without trailing commas, with what was
 * left open closed. Undefined when that is no JSON either. Linear in the text.
 */
export function repairedJson(text: string): string | undefined {
  const bare = withoutFence(text)
  const start = bare.search(/[[{]/)
  if (start < 0) return undefined
  const repaired = rewritten(bare, start)
  return parsedJson(repaired) === undefined ? undefined : repaired
}

interface Reading {
  /** What is kept; every mark outside texts is a piece of its own. */
  readonly out: string[]
  readonly closers: string[]
  inText: boolean
  done: boolean
}

function rewritten(text: string, start: number): string {
  const reading: Reading = { out: [], closers: [], inText: false, done: false }
  for (let at = start; at < text.length && !reading.done; at++) {
    if (reading.inText) at += readText(reading, text, at)
    else readMark(reading, text[at] as string)
  }
  return closed(reading)
}

/** Takes one character inside a text; returns how many more it took. */
function readText(reading: Reading, text: string, at: number): number {
  const character = text[at] as string
  if (character === '\\' && at + 1 < text.length) {
    reading.out.push(text.slice(at, at + 2))
    return 1
  }
  if (character === '"') reading.inText = false
  // A bare line break is no JSON, but what was meant is plain.
  if (character === '\n') reading.out.push('\\n')
  else if (character !== '\\' && character !== '\r') reading.out.push(character)
  return 0
}

function readMark(reading: Reading, character: string): void {
  const { out, closers } = reading
  if (character === '"') reading.inText = true
  else if (character === '{') closers.push('}')
  else if (character === '[') closers.push(']')
  else if (character === '}' || character === ']') {
    if (closers.at(-1) !== character) return
    closers.pop()
    dropComma(out)
    reading.done = closers.length === 0
  }
  out.push(character)
}

/** Takes a trailing comma off, and the white space behind it. */
function dropComma(out: string[]): void {
  while (/^\s$/.test(out.at(-1) ?? '')) out.pop()
  if (out.at(-1) === ',') out.pop()
}

function closed({ out, closers, inText }: Reading): string {
  if (closers.length === 0) return out.join('')
  if (inText) out.push('"')
  else dropComma(out)
  const tail = out.slice(-4_096).join('')
  const literal = inText ? undefined : /(?:^|[\s,:[])(t|tr|tru|f|fa|fal|fals|n|nu|nul)$/.exec(tail)?.[1]
  if (literal) out.push(['true', 'false', 'null'].find((each) => each.startsWith(literal))?.slice(literal.length) ?? '')
  else if (/\d(?:\.|[eE][+-]?)$/.test(tail)) out.push('0')
  else if (tail.endsWith('-')) out.push('0')
  else if (tail.endsWith(':')) out.push('null')
  else if (closers.at(-1) === '}' && /[{,]\s*"(?:[^"\\]|\\.)*"$/.test(tail)) out.push(':null')
  return out.join('') + closers.toReversed().join('')
}
