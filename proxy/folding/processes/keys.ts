import type { RunnerConfig } from '../../../config/runners.ts'
import type { SigningConfig } from '../../../config/sections.ts'
import { createSigningKey, createVerifyingKey, type SigningKey, type VerifyingKey } from '../../../plugins/jws-key.ts'
import type { Files } from '../../runner-settings.ts'

/** The key that contexts and policies are signed with: the active one, else the first. Undefined without keys. Throws `config_invalid`. */
export function activeKey(signing: SigningConfig, { secretFile }: Pick<Files, 'secretFile'>): SigningKey | undefined {
  const key = signing.keys.find(({ kid }) => kid === signing.active) ?? signing.keys[0]
  if (!key) return undefined
  const { kid, alg } = key
  const bytes = secretFile((key.secretFile ?? key.privateKeyFile) as string)
  return createSigningKey(alg === 'HS256' ? { kid, alg, secret: bytes } : { kid, alg, privateKey: bytes })
}

/** Every key of this gateway, the one that signs among them. Throws `config_invalid`. */
export function verifyingKeys(
  signing: SigningConfig,
  { secretFile }: Pick<Files, 'secretFile'>,
): readonly SigningKey[] {
  return signing.keys.map(({ kid, alg, secretFile: secret, privateKeyFile }) => {
    const bytes = secretFile((secret ?? privateKeyFile) as string)
    return createSigningKey(alg === 'HS256' ? { kid, alg, secret: bytes } : { kid, alg, privateKey: bytes })
  })
}

/** The public keys of the runners' acknowledgements, by the runner's name, where one is configured. Throws `config_invalid`. */
export function ackKeys(
  runners: readonly RunnerConfig[],
  { file }: Pick<Files, 'file'>,
): ReadonlyMap<string, VerifyingKey> {
  const named = runners.flatMap(({ name, ackKeyFile }) => (ackKeyFile === null ? [] : [{ name, ackKeyFile }]))
  return new Map(
    named.map(({ name, ackKeyFile }) => [
      name,
      createVerifyingKey({ kid: 'ack', alg: 'EdDSA', publicKey: file(ackKeyFile) }),
    ]),
  )
}
