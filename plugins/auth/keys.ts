import { createPublicKey, type KeyObject } from 'node:crypto'
import { gatewayError } from '../errors.ts'
import { algorithmsOfKey, type JwsAlgorithm, secretAlgorithms } from './algorithms.ts'
import type { StaticKey } from './config-jwt.ts'

/** A key that may verify tokens, with the algorithms that it, not the token, decides on (RFC 8725 §3.1). */
export interface VerificationKey {
  /** Key id; undefined: tried for every token of its algorithms. */
  readonly kid: string | undefined
  readonly algorithms: readonly JwsAlgorithm[]
  readonly key: KeyObject | Uint8Array
}

// Private members never matter here, and a private key must not be kept by accident.
const publicMembers = ['kty', 'crv', 'x', 'y', 'n', 'e'] as const

/**
 * A member of a key set as a key, or undefined when it is not for verifying, symmetric, weak or of an unknown kind: such members are
 * ignored (RFC 7517 §5).
 */
export function keyFromJwk(jwk: unknown, rsaAlgorithm: JwsAlgorithm): VerificationKey | undefined {
  if (jwk === null || typeof jwk !== 'object') return undefined
  const { kid, alg, use, key_ops: operations, ...rest } = jwk as Record<string, unknown>
  if (use !== undefined && use !== 'sig') return undefined
  if (Array.isArray(operations) && !operations.includes('verify')) return undefined
  if (rest['kty'] === 'oct') return undefined
  const members = Object.fromEntries(publicMembers.map((name) => [name, rest[name]]))
  try {
    const key = createPublicKey({ key: members, format: 'jwk' })
    const algorithms = algorithmsOfKey(key, alg, rsaAlgorithm)
    if (algorithms.length === 0) return undefined
    return { kid: typeof kid === 'string' ? kid : undefined, algorithms, key }
  } catch {
    return undefined
  }
}

/** A key of the configuration. Throws `config_invalid` saying what is wrong with it; never what it holds. */
export function keyFromConfig(config: StaticKey, file: (path: string) => Buffer): VerificationKey {
  const kid = config.kid ?? undefined
  const said = [config.jwk, config.pem, config.file, config.secretFile].filter((each) => each !== null)
  if (said.length !== 1) throw invalid('name exactly one of jwk, pem, file and secretFile')
  if (config.secretFile !== null) {
    return { kid, algorithms: [config.alg], key: secretFromFile(file(config.secretFile), config.alg) }
  }
  if (config.alg in secretAlgorithms) throw invalid(`${config.alg} takes a secretFile, not a public key`)
  const text = config.pem ?? (config.file === null ? undefined : file(config.file).toString('utf8').trim())
  const key = text === undefined ? publicKeyFromJwk(config.jwk) : publicKeyFromText(text)
  const algorithms = algorithmsOfKey(key, config.alg, config.alg)
  if (algorithms.length === 0) throw invalid(`the key cannot be one of ${config.alg}, or is too weak`)
  return { kid, algorithms, key }
}

function publicKeyFromText(text: string): KeyObject {
  if (text.startsWith('{')) return publicKeyFromJwk(jwkFromText(text))
  if (/PRIVATE KEY-----/.test(text)) throw invalid('holds a private key; the public half is enough, and safer')
  try {
    return createPublicKey(text)
  } catch {
    throw invalid('holds neither a public key nor a certificate as PEM')
  }
}

function jwkFromText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw invalid('does not hold a valid JWK')
  }
}

function publicKeyFromJwk(jwk: unknown): KeyObject {
  const { kty, d } = (jwk ?? {}) as Record<string, unknown>
  if (kty === 'oct') throw invalid('a shared secret belongs into a secretFile')
  if (d !== undefined) throw invalid('holds a private key; the public half is enough, and safer')
  try {
    return createPublicKey({ key: jwk as Record<string, unknown>, format: 'jwk' })
  } catch {
    throw invalid('is not a public key as JWK')
  }
}

function secretFromFile(bytes: Buffer, alg: JwsAlgorithm): Uint8Array {
  const least = secretAlgorithms[alg as keyof typeof secretAlgorithms]
  if (least === undefined) throw invalid(`${alg} takes a public key, not a secretFile`)
  const secret = withoutNewline(bytes)
  // The classic confusion: a public key that everybody knows, taken for a shared secret.
  if (secret.includes('-----BEGIN')) throw invalid('the secret is a PEM key; a public key must never be a secret')
  if (secret.length < least) throw invalid(`the secret of ${alg} must have at least ${least} bytes`)
  return new Uint8Array(secret)
}

/** Bytes without one trailing newline, as secret files are read. */
export function withoutNewline(bytes: Buffer): Buffer {
  if (bytes.at(-1) !== 0x0a) return bytes
  return bytes.subarray(0, bytes.at(-2) === 0x0d ? -2 : -1)
}

function invalid(message: string) {
  return gatewayError('config_invalid', message)
}
