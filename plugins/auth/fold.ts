import type { KeyObject } from 'node:crypto'
import type { FoldSource } from '../host.ts'
import type { AuthConfig } from './config.ts'
import type { StaticKey } from './config-jwt.ts'
import { keyFromConfig } from './keys.ts'
import type { AuthStep, StepKey } from './step.ts'

/** Who may pass, as data for the runner. Throws `config_invalid` for a key that cannot be read. */
export function foldAuth({ jwt, ...config }: AuthConfig, source: FoldSource): AuthStep {
  const { apiKeys, profile } = config
  const named = (path: string | null): string | null => (path === null ? null : source.secret(path))
  return {
    ...config,
    jwt: jwt && { ...jwt, keys: jwt.keys.map((key) => portable(key, source)) },
    apiKeys: apiKeys.map((entry) => ({ ...entry, hashFile: named(entry.hashFile) })),
    profile: profile && { ...profile, tokenFile: named(profile.tokenFile) },
  }
}

function portable(config: StaticKey, source: FoldSource): StepKey {
  const { kid, alg, secretFile } = config
  if (secretFile !== null) return { kid, alg, jwk: null, secretFile: source.secret(secretFile) }
  // Exported from the parsed key, so that nothing but the public half can be in it.
  const { key } = keyFromConfig(config, source.file)
  const jwk = (key as KeyObject).export({ format: 'jwk' }) as Record<string, unknown>
  return { kid, alg, jwk, secretFile: null }
}

/** Why a configuration of auth cannot leave the gateway: what callers are known by is not there, or must not go there. */
export function staysAuth({ jwt, profile, trustedHop, clientCertificates }: AuthConfig): string | undefined {
  if (trustedHop) return 'trustedHop: a caller that a hop in front names bears no credential that a runner could verify'
  if (clientCertificates.length > 0)
    return 'clientCertificates: a client certificate is verified on the connection, which ends at the gateway'
  if (holdsCredential(jwt?.jwksUrl)) return 'jwt.jwksUrl holds a credential, which must not travel to a runner'
  if (holdsCredential(profile?.url)) return 'profile.url holds a credential, which must not travel to a runner'
  return undefined
}

function holdsCredential(text: string | null | undefined): boolean {
  const url = text ? URL.parse(text) : null
  return Boolean(url?.username || url?.password)
}
