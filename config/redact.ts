import { type JsonSchema, joinPath } from '../plugins/schema.ts'
import { placeFromSchema, type SchemaPlace, stepInto } from './schema-walk.ts'

/** What stands in a shown configuration where a secret is. */
export const redacted = '[redacted]'

/** What is known about where secrets are. */
export interface Redaction {
  readonly schema: JsonSchema
  /** What was written where a file was read in, by dotted path. */
  readonly written: ReadonlyMap<string, string>
}

/**
 * The configuration as it may be shown: what came from `${file:…}` as it was written, fields that the schema marks `writeOnly` or
 * whose name says secret, password, token, key, hash or credential, headers that are sent, and private parts of JWKs as `[redacted]`, and URLs without passwords and query values.
 */
export function redactConfig(config: unknown, { schema, written }: Redaction): unknown {
  const walk = (value: unknown, path: string, at: { place: SchemaPlace; key: string }): unknown => {
    const reference = written.get(path)
    if (reference !== undefined) return reference
    if (typeof value === 'string') return shownText(value, at)
    if (value === null || typeof value !== 'object') return value
    // Headers that go out with a request are where credentials are; the top section of that name holds none.
    const outgoing = at.key === 'headers' && path !== 'headers'
    const inner = (key: string) => ({ place: stepInto(schema, at.place, key), key: outgoing ? 'credential' : key })
    if (Array.isArray(value)) {
      return value.map((item, index) => walk(item, `${path}[${index}]`, { ...inner(String(index)), key: at.key }))
    }
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, walk(item, joinPath(path, key), inner(key))]),
    )
  }
  return walk(config, '', { place: placeFromSchema(schema), key: '' })
}

const secretName =
  /(secret|password|passwd|token|tokens|apikey|api_key|privatekey|private_key|hash|credential|authorization|cookie)s?$|^(k|d|p|q|dp|dq|qi)$/i

function shownText(text: string, { place, key }: { place: SchemaPlace; key: string }): string {
  if (secretName.test(key) || place.some((schema) => schema['writeOnly'] === true)) return redacted
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? shownUrl(text) : text
}

function shownUrl(text: string): string {
  if (!URL.canParse(text)) return redacted
  const url = new URL(text)
  if (!url.password && !url.username && !url.search) return text
  if (url.username) url.username = 'redacted'
  if (url.password) url.password = 'redacted'
  for (const name of [...url.searchParams.keys()]) url.searchParams.set(name, 'redacted')
  return url.href
}
