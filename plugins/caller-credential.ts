import { parseDictionary } from 'structured-headers'

/** The header that carries the caller's credentials to a runner that verifies them. Over loopback or TLS only. */
export const credentialHeader = 'x-caller-credential'

/** Longest value that is taken, in bytes. */
const maxBytes = 24_576

/**
 * The headers of a call that hold a credential, as one value: a dictionary (RFC 9651) of byte sequences by header name, so that whoever
 * verifies sees exactly what the caller sent, twice sent or malformed ones too. Undefined when there is none.
 */
export function textFromCredentials(
  headers: Readonly<Record<string, string>>,
  names: readonly string[],
): string | undefined {
  // Each call pays for it, and a general serialiser takes ten times as long for the same text.
  let text = ''
  for (const name of names) {
    const value = headers[name]
    if (value) text += `${text ? ', ' : ''}${name}=:${Buffer.from(value, 'latin1').toString('base64')}:`
  }
  return text || undefined
}

/** The credential headers that {@link textFromCredentials} wrote; undefined for anything else. */
export function credentialsFromText(text: string): Readonly<Record<string, string>> | undefined {
  if (text.length > maxBytes) return undefined
  try {
    const headers: Record<string, string> = {}
    for (const [name, [value]] of parseDictionary(text)) {
      if (!(value instanceof ArrayBuffer)) return undefined
      headers[name] = Buffer.from(value).toString('latin1')
    }
    return headers
  } catch {
    return undefined
  }
}
