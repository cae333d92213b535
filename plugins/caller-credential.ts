import { parseDictionary, serializeDictionary } from 'structured-headers'

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
  const found = names.filter((name) => headers[name])
  if (found.length === 0) return undefined
  const members = found.map((name) => [name, [bytesFrom(headers[name] as string), new Map()]] as const)
  return serializeDictionary(new Map(members) as Parameters<typeof serializeDictionary>[0])
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

/** Node gives header values as one character a byte. */
function bytesFrom(value: string): ArrayBuffer {
  const bytes = Buffer.from(value, 'latin1')
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer
}
