import { credentialHeaders } from '../../plugins/headers.ts'

/** What stands in a log where something was that must not be there. */
export const redacted = '[redacted]'

// What is a secret by its name, wherever in the name it stands, and what is one only as its last word.
const secretAnywhere = /authori[sz]ation|credential|cookie|secret|passw|passphrase|private[-_]?key|api[-_]?key/i
const secretAtEnd = /(^|[-_])(token|key)$|(access|refresh|id|bearer)[-_]?token$/i
// Members of requests and answers, in either dialect, that hold what people or models wrote.
const textNames = new Set(
  (
    'messages prompt input content text body completion choices delta stop stop_sequences suffix system instructions ' +
    'tools functions tool_calls arguments user metadata variables prediction reasoning refusal output'
  ).split(' '),
)
const deepest = 6
const longest = 4096

/**
 * A log line's fields without credentials and without prompt text: members named like either are replaced, and texts lose
 * their URLs' queries and user parts, their bearer tokens and what looks like an API key. Errors become type, code, message, stack
 * and cause. The fields themselves are not changed. Deeper than six levels or longer than 4096 characters is cut.
 */
export function safeFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return safeMembers(fields, 0)
}

function safeMembers(members: Readonly<Record<string, unknown>>, depth: number): Record<string, unknown> {
  const safe: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(members)) {
    // Counts are no secrets: `tokens`, `input: 12`.
    const counted = typeof value === 'number' || typeof value === 'boolean' || value === null || value === undefined
    safe[name] = counted ? value : isUnsafe(name) ? redacted : safeValue(value, depth + 1)
  }
  return safe
}

const isUnsafe = (name: string): boolean =>
  credentialHeaders.has(name.toLowerCase()) ||
  secretAnywhere.test(name) ||
  secretAtEnd.test(name) ||
  textNames.has(name)

function safeValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return safeText(value)
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null) return typeof value === 'function' ? undefined : value
  if (depth > deepest) return '[deeper]'
  if (value instanceof Error) return safeError(value, depth)
  if (value instanceof Uint8Array) return `[${value.length} bytes]`
  if (value instanceof Date) return value
  if (value instanceof URL) return safeText(value.href)
  if (Array.isArray(value)) return value.slice(0, 100).map((each) => safeValue(each, depth + 1))
  if (value instanceof Map) {
    return safeMembers(Object.fromEntries([...value].map(([name, held]) => [String(name), held])), depth)
  }
  return safeMembers(value as Record<string, unknown>, depth)
}

function safeError(error: Error, depth: number): Record<string, unknown> {
  const { name, message, stack, cause } = error
  const code = (error as NodeJS.ErrnoException).code
  return {
    type: name,
    ...(code === undefined ? {} : { code: String(code) }),
    message: safeText(message),
    ...(stack === undefined ? {} : { stack: safeText(stack) }),
    ...(cause === undefined ? {} : { cause: safeValue(cause, depth + 1) }),
  }
}

const urls = /\b([a-z][a-z\d+.-]{0,15}:\/\/)([^\s"'<>?#]{0,2048})(?:[?#][^\s"'<>]*)?/gi
const schemes = /\b(bearer|basic|digest)\s+[\w.~+/=-]{6,}/gi
const settings = /\b(api[-_]?key|key|token|secret|password|signature|sig)=[^\s&"'<>]+/gi
const keys = /\b(?:sk|pk|rk|ghp|gho|xox[abp]|hf|AKIA|AIza)[-_]?[\w-]{16,}|\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?/g

/** A text without what is secret in URLs, without `Bearer` and `Basic` credentials, `key=` settings, JWTs and keys of known make. */
export function safeText(text: string): string {
  const cut = text.length > longest ? `${text.slice(0, longest)}…` : text
  return cut
    .replace(
      urls,
      (_, scheme: string, rest: string) => scheme + rest.slice(rest.split('/', 1)[0]!.lastIndexOf('@') + 1),
    )
    .replace(schemes, (_, scheme: string) => `${scheme} ${redacted}`)
    .replace(settings, (_, name: string) => `${name}=${redacted}`)
    .replace(keys, redacted)
}
