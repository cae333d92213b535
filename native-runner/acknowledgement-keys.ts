import { acknowledgementKey } from '../plugins/acknowledgement-verify.ts'
import { gatewayError } from '../plugins/errors.ts'
import { createSigningKey, type SigningKey, type VerifyingKey } from '../plugins/jws-key.ts'

/**
 * The key that acknowledges contexts under a kid: derived from a shared secret, else the runner's own Ed25519 key, never anything of a
 * public one. Throws `config_invalid` when a public key has no such key beside it, or the key is of another kind.
 */
export function createAcknowledgementKeys(
  keys: readonly VerifyingKey[],
  ackKey: string | Buffer | undefined,
): (kid: string) => SigningKey {
  const own = ackKey === undefined ? undefined : createSigningKey({ kid: 'ack', alg: 'EdDSA', privateKey: ackKey })
  const byKid = new Map(keys.map((key) => [key.kid, key.alg === 'HS256' ? acknowledgementKey(key) : ownFor(key, own)]))
  return (kid) => byKid.get(kid) as SigningKey
}

function ownFor({ kid }: VerifyingKey, own: SigningKey | undefined): SigningKey {
  if (own) return own
  throw gatewayError('config_invalid', `key "${kid}" is public: acknowledgements need an ack key of the runner's own`)
}
