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
  out: string
  readonly closers: string[]
  inText: boolean
  done: boolean
}

function rewritten(text: string, start: number): string {
  const reading: Reading = { out: '', closers: [], inText: false, done: false }
  for (let at = start; at < text.length && !reading.done; at++) {
    const character = text[at] as string
    if (reading.inText) at += readText(reading, text, at)
    else readMark(reading, character)
  }
  return closed(reading)
}

/** Takes one character inside a text; returns how many more it took. */
function readText(reading: Reading, text: string, at: number): number {
  const character = text[at] as string
  if (character === '\\' && at + 1 < text.length) {
    reading.out += text.slice(at, at + 2)
    return 1
  }
  if (character === '"') reading.inText = false
  // A bare line break is no JSON, but what was meant is plain.
  if (character === '\n') reading.out += '\\n'
  else if (character !== '\\' && character !== '\r') reading.out += character
  return 0
}

function readMark(reading: Reading, character: string): void {
  if (character === '"') reading.inText = true
  else if (character === '{') reading.closers.push('}')
  else if (character === '[') reading.closers.push(']')
  else if (character === '}' || character === ']') {
    if (reading.closers.at(-1) !== character) return
    reading.closers.pop()
    reading.out = withoutComma(reading.out)
    reading.done = reading.closers.length === 0
  }
  reading.out += character
}

function closed({ out, closers, inText }: Reading): string {
  if (closers.length === 0) return out
  let rest = withoutComma(inText ? `${out}"` : out)
  const literal = /(?:^|[\s,:[])(t|tr|tru|f|fa|fal|fals|n|nu|nul)$/.exec(rest)?.[1]
  if (literal) rest += ['true', 'false', 'null'].find((each) => each.startsWith(literal))?.slice(literal.length)
  rest = rest.replace(/(\d)(?:\.|[eE][+-]?)$/, '$1').replace(/-$/, '-0')
  if (rest.endsWith(':')) rest += 'null'
  else if (closers.at(-1) === '}' && /[{,]\s*"(?:[^"\\]|\\.)*"$/.test(rest.slice(-4_096))) rest += ':null'
  return withoutComma(rest) + closers.toReversed().join('')
}

const withoutComma = (text: string): string => {
  const end = text.trimEnd()
  return end.endsWith(',') ? end.slice(0, -1) : end
}
