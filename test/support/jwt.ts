import { createHmac } from 'node:crypto'
import { type CryptoKey, exportJWK, exportPKCS8, exportSPKI, generateKeyPair, type JWK, SignJWT } from 'jose'

/** Asymmetric algorithms that the rig makes keys for (RFC 7518, RFC 8037). */
export type KeyAlgorithm = 'RS256' | 'RS384' | 'RS512' | 'PS256' | 'ES256' | 'ES384' | 'EdDSA'

/** A key pair with everything that a test may want of it. */
export interface TestKey {
  readonly kid: string
  readonly alg: KeyAlgorithm
  readonly privateKey: CryptoKey
  /** The public half for a key set, with `kid`, `alg` and `use`. */
  readonly publicJwk: JWK
  /** The public half as PEM (SPKI). */
  readonly publicPem: string
  readonly privatePem: string
}

/** What a token says beside its claims. */
export interface TokenOptions {
  /** Changes of the protected header; undefined takes a field away. */
  readonly header?: Readonly<Record<string, unknown>>
}

/** A new key pair. */
export async function createKey(alg: KeyAlgorithm = 'RS256', kid = `key-${alg}`): Promise<TestKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
  return {
    kid,
    alg,
    privateKey,
    publicJwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' },
    publicPem: await exportSPKI(publicKey),
    privatePem: await exportPKCS8(privateKey),
  }
}

/** A new secret for HS256, as bytes. */
export function createSecret(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(32))
}

/** A token signed with the key; claims stand as given, none are added. */
export function signToken(
  key: TestKey,
  claims: Readonly<Record<string, unknown>>,
  options: TokenOptions = {},
): Promise<string> {
  return new SignJWT({ ...claims })
    .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'JWT', ...options.header } as { alg: string })
    .sign(key.privateKey)
}

/** A token signed with HS256 by any bytes or text, also such that never were a secret, like a public key's PEM. */
export function signHmac(
  secret: Uint8Array | string,
  claims: Readonly<Record<string, unknown>>,
  options: TokenOptions = {},
): string {
  const signed = `${part({ alg: 'HS256', typ: 'JWT', ...options.header })}.${part(claims)}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}

/** A token with this header and these claims and any signature text, by default none. */
export function forgeToken(
  header: Readonly<Record<string, unknown>>,
  claims: Readonly<Record<string, unknown>>,
  signature = '',
): string {
  return `${part(header)}.${part(claims)}.${signature}`
}

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
