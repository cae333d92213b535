import { isUtf8 } from 'node:buffer'

/** Deepest nesting that a signed document may have. */
const maxDepth = 200

/** An object as JSON wrote it. */
export type JsonObject = Readonly<Record<string, unknown>>

/**
 * Bytes as a JSON object, read as I-JSON (RFC 7493): valid UTF-8, at most 200 levels, and no member twice, since readers differ on which
 * of two counts. Undefined when they are anything else. `parse` is `JSON.parse` unless digits must be kept.
 */
export function jsonObjectFromBytes(
  bytes: Buffer,
  parse: (text: string) => unknown = JSON.parse,
): JsonObject | undefined {
  if (!isUtf8(bytes)) return undefined
  const text = bytes.toString('utf8')
  try {
    const value = parse(text)
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return undefined
    return membersOf(value, 0) === membersWritten(text) ? (value as JsonObject) : undefined
  } catch {
    return undefined
  }
}

/** How many members the objects of valid JSON text have, each counted as often as it is written: the colons outside strings. */
function membersWritten(text: string): number {
  let members = 0
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === 0x3a) members += 1
    else if (code === 0x22) at = endOfString(text, at)
  }
  return members
}

/** Where the quote is that closes the string opened at `start`. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1)
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end
}

function isEscaped(text: string, at: number): boolean {
  let before = at - 1
  while (text.charCodeAt(before) === 0x5c) before -= 1
  return (at - before) % 2 === 0
}

function membersOf(value: unknown, depth: number): number {
  if (value === null || typeof value !== 'object' || isRawJson(value)) return 0
  if (depth >= maxDepth) return Number.NaN
  let members = 0
  if (Array.isArray(value)) {
    for (const item of value) members += membersOf(item, depth + 1)
    return members
  }
  for (const key of Object.keys(value)) members += 1 + membersOf((value as JsonObject)[key], depth + 1)
  return members
}

const { isRawJSON: isRawJson } = JSON as unknown as { isRawJSON(value: unknown): boolean }
