import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { createSigningKey, type SigningKey } from '../../plugins/jws-key.ts'

/** A key of the same kid and kind that nobody else holds. */
export function strangerKey({ kid, alg }: Pick<SigningKey, 'kid' | 'alg'>): SigningKey {
  if (alg === 'HS256') return createSigningKey({ kid, alg, secret: randomBytes(32) })
  const { privateKey } = generateKeyPairSync('ed25519', { privateKeyEncoding: pkcs8, publicKeyEncoding: spki })
  return createSigningKey({ kid, alg, privateKey })
}
const pkcs8 = { type: 'pkcs8', format: 'pem' } as const
const spki = { type: 'spki', format: 'pem' } as const
