import { createPrivateKey, createPublicKey, createSecretKey, hkdfSync, type KeyObject, sign, verify } from 'node:crypto'
import { gatewayError } from './errors.ts'
import { createMac } from './jws-mac.ts'

/** The fewest bytes of an HS256 secret: 256 bits (RFC 7518 §3.2). */
export const minSecretBytes = 32

/** How a key signs: HMAC-SHA-256 (RFC 7518 §3.2) or Ed25519 (RFC 8037). */
export type JwsAlgorithm = 'HS256' | 'EdDSA'

/** A secret that both sides hold. */
export interface SecretMaterial {
  readonly kid: string
  readonly alg: 'HS256'
  /** At least 32 bytes. */
  readonly secret: Uint8Array
}

/** The private half of a key pair; holds the public half too. */
export interface PrivateMaterial {
  readonly kid: string
  readonly alg: 'EdDSA'
  /** PKCS #8 in PEM (RFC 8410). */
  readonly privateKey: string | Buffer
}

/** The public half of a key pair. */
export interface PublicMaterial {
  readonly kid: string
  readonly alg: 'EdDSA'
  /** SubjectPublicKeyInfo in PEM (RFC 8410). */
  readonly publicKey: string | Buffer
}

/** A key that tells whether a signature is its own. */
export interface VerifyingKey {
  readonly kid: string
  readonly alg: JwsAlgorithm
  /** Compares in constant time. Never throws, whatever the signature is. */
  verify(input: string, signature: Buffer): boolean
  /** 32 bytes for one purpose (HKDF-SHA-256, RFC 5869). Throws `config_invalid` where there is no secret: never from a public key. */
  derive(purpose: string): Buffer
}

/** A key that signs. */
export interface SigningKey extends VerifyingKey {
  /** The signature of a text's UTF-8 bytes. */
  sign(input: string, encoding: 'base64' | 'base64url'): string
}

/** The keys that are valid now, by `kid`. */
export interface KeyRing {
  readonly kids: readonly string[]
  get(kid: string): VerifyingKey | undefined
}

/** Makes a key that signs. Throws `config_invalid` naming the key when it is too short or of another kind. */
export function createSigningKey(material: SecretMaterial | PrivateMaterial): SigningKey {
  const { kid } = material
  requireKid(kid)
  if (material.alg === 'HS256') return secretKey(kid, material.secret)
  const key = ed25519Key(kid, () => createPrivateKey(material.privateKey))
  return {
    ...publicKey(kid, createPublicKey(key)),
    sign: (input, encoding) => sign(null, Buffer.from(input), key).toString(encoding),
  }
}

/** Makes a key that verifies. Throws `config_invalid` naming the key when it is too short or of another kind. */
export function createVerifyingKey(material: SecretMaterial | PrivateMaterial | PublicMaterial): VerifyingKey {
  if (!('publicKey' in material)) return createSigningKey(material)
  requireKid(material.kid)
  return publicKey(
    material.kid,
    ed25519Key(material.kid, () => createPublicKey(material.publicKey)),
  )
}

/**
 * Makes a {@link KeyRing}. While keys rotate, two are valid at once: the one that signs now and the one before it. Throws
 * `config_invalid` when two keys have one `kid`.
 */
export function createKeyRing(keys: readonly VerifyingKey[]): KeyRing {
  const byKid = new Map(keys.map((key) => [key.kid, key]))
  if (byKid.size < keys.length) throw gatewayError('config_invalid', 'two keys have the same kid')
  return { kids: [...byKid.keys()], get: (kid) => byKid.get(kid) }
}

function secretKey(kid: string, secret: Uint8Array): SigningKey {
  if (secret.length < minSecretBytes) {
    throw gatewayError(
      'config_invalid',
      `key "${kid}" has ${secret.length} bytes; at least ${minSecretBytes} are needed`,
    )
  }
  const key = createSecretKey(secret)
  const mac = createMac(secret)
  return {
    kid,
    alg: 'HS256',
    sign: mac.of,
    verify: (input, signature) => mac.is(signature, input),
    derive: (purpose) => Buffer.from(hkdfSync('sha256', key, 'foldgate', purpose, 32)),
  }
}

function publicKey(kid: string, key: KeyObject): VerifyingKey {
  return {
    kid,
    alg: 'EdDSA',
    verify: (input, signature) => signature.length === 64 && verify(null, Buffer.from(input), key, signature),
    derive() {
      throw gatewayError('config_invalid', `key "${kid}" is not a shared secret; nothing is derived from it`)
    },
  }
}

function ed25519Key(kid: string, read: () => KeyObject): KeyObject {
  let key: KeyObject | undefined
  try {
    key = read()
  } catch {
    // What the library says may quote the key.
  }
  if (key?.asymmetricKeyType !== 'ed25519') throw gatewayError('config_invalid', `key "${kid}" is not an Ed25519 key`)
  return key
}

function requireKid(kid: string): void {
  if (/^[A-Za-z0-9._-]{1,64}$/.test(kid)) return
  throw gatewayError('config_invalid', 'a kid has 1 to 64 letters, digits, dots, dashes and underscores')
}
