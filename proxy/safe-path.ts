import { gatewayError } from '../plugins/errors.ts'

/** A request path that means the same here and at a runner, however often either decodes it. */
export interface SafePath {
  /** As it came, query included, secrets in the query taken out. */
  readonly raw: string
  /** Decoded to the end, slashes collapsed, without a final slash, lower case: for comparing, never for sending. */
  readonly plain: string
}

const secretParameters = new Set(['key', 'api_key', 'api-key', 'apikey', 'access_token', 'token'])

/**
 * Checks a request target. Throws `invalid_path` for what could mean another path further in: dot segments in any encoding, backslashes,
 * control characters, bad escapes.
 */
export function safePath(target: string): SafePath {
  const [path = '', ...query] = target.split('?')
  if (!path.startsWith('/')) throw unsafe('is not an absolute path')
  let decoded = path
  for (let round = 0; ; round++) {
    checkOnce(decoded)
    const next = decodedOnce(decoded, round)
    if (next === decoded) break
    if (round === maxRounds) throw unsafe('is encoded too many times')
    decoded = next
  }
  const plain = decoded
    .replace(/\/{2,}/g, '/')
    .replace(/(.)\/$/, '$1')
    .toLowerCase()
  return { raw: path + withoutSecrets(query.join('?')), plain }
}

// No server decodes a path more often than this.
const maxRounds = 4

function checkOnce(path: string): void {
  for (let i = 0; i < path.length; i++) {
    const code = path.charCodeAt(i)
    if (code < 0x20 || code === 0x7f || code === 0x5c) throw unsafe('contains a character that is not allowed')
  }
  // Some servers cut path parameters off before they resolve dot segments.
  for (const segment of path.split('/')) {
    const name = segment.split(';')[0]
    if (name === '.' || name === '..' || (name === '' && segment.startsWith(';')))
      throw unsafe('contains a dot segment')
  }
}

function decodedOnce(path: string, round: number): string {
  try {
    return decodeURIComponent(path)
  } catch {
    if (round === 0) throw unsafe('contains a bad escape')
    return path
  }
}

function withoutSecrets(query: string): string {
  if (!query) return ''
  const kept = query.split('&').filter((pair) => !secretParameters.has(nameOf(pair)))
  return kept.length > 0 ? `?${kept.join('&')}` : ''
}

function nameOf(pair: string): string {
  const name = pair.split('=')[0] ?? ''
  return decodedOnce(name, 1).trim().toLowerCase()
}

function unsafe(why: string) {
  return gatewayError('invalid_path', `the request path ${why}`, { field: 'path' })
}
