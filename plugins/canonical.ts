import { hash } from 'node:crypto'
import { gatewayError } from './errors.ts'

/** Deepest nesting that is canonicalised. */
const maxDepth = 200

/**
 * The canonical form of a JSON value: RFC 8785 (members sorted by UTF-16 code units, shortest number form), but integers beyond 2⁵³
 * keep their source digits and strings stay as they are. Undefined members are left out. Throws `invalid_request` beyond 200 levels.
 */
export function canonicalJson(value: unknown): string {
  return write(value, 0)
}

function write(value: unknown, depth: number): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
  if (depth >= maxDepth) throw gatewayError('invalid_request', `the body is nested deeper than ${maxDepth} levels`)
  if (Array.isArray(value)) return `[${value.map((item) => write(item, depth + 1)).join(',')}]`
  if (isRawJson(value)) return JSON.stringify(value)
  const members = value as Record<string, unknown>
  let text = ''
  for (const key of Object.keys(members).sort()) {
    const member = members[key]
    if (member === undefined) continue
    text += `${text ? ',' : ''}${JSON.stringify(key)}:${write(member, depth + 1)}`
  }
  return `{${text}}`
}

const { isRawJSON: isRawJson } = JSON as unknown as { isRawJSON(value: unknown): boolean }

/** SHA-256 of bytes or text (UTF-8), as lower-case hex. */
export function sha256(content: string | Buffer): string {
  return hash('sha256', content)
}

/** SHA-256 of the canonical form of a value, as lower-case hex: the digest that names policies, templates and steps. */
export function canonicalDigest(value: unknown): string {
  return sha256(canonicalJson(value))
}
