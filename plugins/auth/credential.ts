import type { RefusalReason } from './rule.ts'

/** The credential a call bears: one, none, or something that cannot be judged. */
export type Credential =
  | { readonly kind: 'none' }
  /** From `Authorization: Bearer`, so it may be a token as well as an API key. */
  | { readonly kind: 'bearer'; readonly text: string }
  /** From a header that holds API keys only. */
  | { readonly kind: 'api-key'; readonly text: string }
  | { readonly kind: 'refused'; readonly reason: RefusalReason }

/** Longest credential that is looked at, in characters. */
const maxLength = 16_384
// Visible ASCII without the comma, which is what joins a header that came twice.
const oneValue = /^[\x21-\x2b\x2d-\x7e]+$/
const bearer = /^bearer +(\S+) *$/i

const none: Credential = { kind: 'none' }

/**
 * The credential in the headers named, which must be lower case. A second one, in another header or the same one twice, is refused,
 * also when it is equal: which of them counts would be anybody's guess. An empty header is none.
 */
export function credentialFromHeaders(headers: Readonly<Record<string, string>>, names: readonly string[]): Credential {
  let found = none
  for (const name of names) {
    const value = headers[name]
    if (!value) continue
    if (found !== none) return { kind: 'refused', reason: 'ambiguous-credential' }
    found = credentialFromHeader(name, value)
  }
  return found
}

function credentialFromHeader(name: string, value: string): Credential {
  const text = name === 'authorization' ? bearer.exec(value)?.[1] : value
  if (text === undefined || text.length > maxLength || !oneValue.test(text)) {
    return { kind: 'refused', reason: value.includes(',') ? 'ambiguous-credential' : 'malformed' }
  }
  return { kind: name === 'authorization' ? 'bearer' : 'api-key', text }
}
