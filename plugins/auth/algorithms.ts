import type { KeyObject } from 'node:crypto'

/** Signature algorithms of public keys (RFC 7518 §3.1, RFC 8037, RFC 9864). */
export const publicAlgorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const

/** Algorithms of shared secrets, with the bytes that a secret must have at least (RFC 7518 §3.2). */
export const secretAlgorithms = { HS256: 32, HS384: 48, HS512: 64 } as const

/** Every algorithm that a key may be pinned to. `none` is not one. */
export const allAlgorithms = [...publicAlgorithms, 'HS256', 'HS384', 'HS512'] as const

/** One of {@link allAlgorithms}. */
export type JwsAlgorithm = (typeof allAlgorithms)[number]

const curves: Readonly<Record<string, JwsAlgorithm>> = { prime256v1: 'ES256', secp384r1: 'ES384', secp521r1: 'ES512' }

/** True for algorithms of public keys: the only ones that a fetched key can have. */
export function isPublicAlgorithm(name: unknown): name is JwsAlgorithm {
  return (publicAlgorithms as readonly unknown[]).includes(name)
}

/**
 * The names under which a public key verifies: the one it states, if its type can do that, else the one its type and curve imply
 * (for RSA `rsaAlgorithm`). Empty when the key is too weak (RSA under 2,048 bits) or of a type that is not supported.
 */
export function algorithmsOfKey(key: KeyObject, stated: unknown, rsaAlgorithm: JwsAlgorithm): readonly JwsAlgorithm[] {
  const details = key.asymmetricKeyDetails
  switch (key.asymmetricKeyType) {
    case 'rsa': {
      // With an exponent of 1 everybody can sign.
      if ((details?.modulusLength ?? 0) < 2048 || (details?.publicExponent ?? 0n) < 3n) return []
      const name = stated === undefined ? rsaAlgorithm : stated
      return isPublicAlgorithm(name) && /^[RP]S/.test(name) ? [name] : []
    }
    case 'ec': {
      const name = curves[details?.namedCurve ?? '']
      return name && (stated === undefined || stated === name) ? [name] : []
    }
    case 'ed25519':
      return stated === undefined || stated === 'EdDSA' || stated === 'Ed25519' ? ['EdDSA', 'Ed25519'] : []
    default:
      return []
  }
}
