import { jsonFromText } from '../chat.ts'
import { gatewayError } from '../errors.ts'

/** Deepest nesting that is gone through. */
const maxDepth = 200

/** A text as JSON; undefined when it is not (JSON has no undefined). Integers beyond 2⁵³ keep their digits. */
export function parsedJson(text: string): unknown {
  try {
    return jsonFromText(text)
  } catch {
    return undefined
  }
}

/** The text without the one code fence around it, and without white space around it. */
export function withoutFence(text: string): string {
  const trimmed = text.trim()
  const opening = /^```[A-Za-z0-9]*[ \t]*\r?\n?/.exec(trimmed)?.[0]
  if (opening === undefined) return trimmed
  return trimmed.slice(opening.length, trimmed.endsWith('```') ? -3 : undefined).trim()
}

/**
 * JSON with all its texts, numbers and keys passed through `clean`; a number that comes back changed becomes a text. The value itself when
 * nothing changed. Throws `output_invalid` beyond 200 levels.
 */
export function cleanJson(value: unknown, clean: (text: string) => string, depth = 0): unknown {
  if (typeof value === 'string') return clean(value)
  if (typeof value === 'number' || isRawJson(value)) {
    const text = typeof value === 'number' ? String(value) : JSON.stringify(value)
    const cleaned = clean(text)
    return cleaned === text ? value : cleaned
  }
  if (value === null || typeof value !== 'object') return value
  if (depth >= maxDepth) throw gatewayError('output_invalid', `the answer is nested deeper than ${maxDepth} levels`)
  if (Array.isArray(value)) {
    const items = value.map((item) => cleanJson(item, clean, depth + 1))
    return items.every((item, at) => item === value[at]) ? value : items
  }
  const members = Object.entries(value).map(
    ([key, member]) => [clean(key), cleanJson(member, clean, depth + 1)] as const,
  )
  const same = Object.entries(value).every(
    ([key, member], at) => members[at]?.[0] === key && members[at]?.[1] === member,
  )
  return same ? value : Object.fromEntries(members)
}

const { isRawJSON: isRawJson } = JSON as unknown as { isRawJSON(value: unknown): boolean }

/** A JSON text with its texts, numbers and keys passed through `clean`; as it came when nothing changed, and taken as plain text when it is not JSON. */
export function cleanJsonText(text: string, clean: (text: string) => string): string {
  const value = parsedJson(text)
  if (value === undefined) return clean(text)
  const cleaned = cleanJson(value, clean)
  return cleaned === value ? text : JSON.stringify(cleaned)
}
