import { type JsonObject, jsonObjectFromBytes } from './jws-json.ts'
import type { JwsAlgorithm, KeyRing, SigningKey } from './jws-key.ts'
import type { JsonSchema } from './schema.ts'

/** What a token carries: the context of one call, a policy, or what replicas tell each other. One is never taken for another (RFC 8725 §3.11). */
export type JwsType = 'exec-ctx+jws' | 'exec-policy+jws' | 'foldgate-peer+jws'

/** The header of our tokens: these three members and no others (RFC 7515 §4.1). */
export interface JwsHeader {
  readonly alg: JwsAlgorithm
  readonly kid: string
  readonly typ: JwsType
}

/** Which check a token failed first: its form, its key or algorithm, or its signature. */
export type JwsFault = 'form' | 'key' | 'signature'

/** What a token turned out to be: its payload, from somebody who holds that key, or what is wrong with it. */
export type VerifiedJws =
  | { readonly ok: true; readonly payload: Buffer; readonly kid: string }
  | { readonly ok: false; readonly fault: JwsFault; readonly detail: string }

/** The header as published. */
export const jwsHeaderSchema: JsonSchema = {
  title: 'Header of the tokens',
  type: 'object',
  additionalProperties: false,
  required: ['alg', 'kid', 'typ'],
  properties: {
    alg: { enum: ['HS256', 'EdDSA'], description: 'Must be the algorithm of the key that kid names.' },
    kid: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,64}$' },
    typ: { enum: ['exec-ctx+jws', 'exec-policy+jws'] },
  },
}

/** A payload as a signed token in compact serialisation (RFC 7515 §7.1). */
export function signJws(payload: string, key: SigningKey, typ: JwsType): string {
  const input = `${headerSegment(key, typ)}.${segment(payload)}`
  return `${input}.${key.sign(input, 'base64url')}`
}

/**
 * Opens a token in compact serialisation. In this order: form (three segments of canonical base64url, a header of exactly `alg`, `kid`
 * and this `typ`), key and algorithm (the key decides, the token only has to agree), signature (constant time). Never throws.
 */
export function verifyJws(token: string, typ: JwsType, keys: KeyRing): VerifiedJws {
  const parts = partsFromToken(token)
  if (!parts) return faulty('form', 'not three segments of canonical base64url')
  const header = headerFromBytes(parts.header)
  if (!header) return faulty('form', 'the header is not exactly alg, kid and typ, as text')
  if (header['typ'] !== typ) return faulty('form', `typ is not ${typ}`)
  const key = keys.get(header['kid'] as string)
  if (!key) return faulty('key', 'no key has this kid')
  if (key.alg !== header['alg']) return faulty('key', `the key's algorithm is ${key.alg}`)
  if (!key.verify(parts.input, parts.signature)) return faulty('signature', 'the signature is not of this key')
  return { ok: true, payload: parts.payload, kid: key.kid }
}

interface Parts {
  readonly header: Buffer
  readonly payload: Buffer
  readonly signature: Buffer
  /** What is signed. */
  readonly input: string
}

function partsFromToken(token: string): Parts | undefined {
  const first = token.indexOf('.')
  const second = token.indexOf('.', first + 1)
  // A third dot is no base64url, so it falls out below.
  if (first < 0 || second < 0) return undefined
  const header = bytesFromSegment(token.slice(0, first))
  const payload = bytesFromSegment(token.slice(first + 1, second))
  const signature = bytesFromSegment(token.slice(second + 1))
  if (!header || !payload || !signature) return undefined
  return { header, payload, signature, input: token.slice(0, second) }
}

/** A segment's bytes, if it is the one way to write them: no padding, no stray characters, no loose bits at the end. */
function bytesFromSegment(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}

function headerFromBytes(bytes: Buffer): JsonObject | undefined {
  const header = jsonObjectFromBytes(bytes)
  if (!header || Object.keys(header).length !== 3) return undefined
  const { alg, kid, typ } = header
  return typeof alg === 'string' && typeof kid === 'string' && typeof typ === 'string' ? header : undefined
}

const headerSegments = new WeakMap<SigningKey, Map<JwsType, string>>()

/** The header of a key's tokens is the same in all of them, so it is written once. */
function headerSegment(key: SigningKey, typ: JwsType): string {
  const written = headerSegments.get(key) ?? new Map<JwsType, string>()
  headerSegments.set(key, written)
  let text = written.get(typ)
  if (text === undefined) {
    const header: JwsHeader = { alg: key.alg, kid: key.kid, typ }
    text = segment(JSON.stringify(header))
    written.set(typ, text)
  }
  return text
}

function segment(text: string): string {
  return Buffer.from(text).toString('base64url')
}

function faulty(fault: JwsFault, detail: string): VerifiedJws {
  return { ok: false, fault, detail }
}
