import type { Host } from '../host.ts'
import { type ApiKeys, apiKeysFromConfig } from './api-key.ts'
import type { AuthConfig } from './config.ts'
import type { JwtConfig } from './config-jwt.ts'
import type { ProfileConfig } from './config-profile.ts'
import { createFaultList, type FaultList } from './faults.ts'
import { keyFromConfig, type VerificationKey, withoutNewline } from './keys.ts'
import { createProfiles, type Profiles } from './profile.ts'
import { createTokens, type Tokens } from './tokens.ts'

/** What a configuration opens: each part is undefined where it is not configured. */
export interface Parts {
  readonly tokens: Tokens | undefined
  readonly apiKeys: ApiKeys
  readonly profiles: Profiles | undefined
  close(): void
}

/** Reads the files and checks what the schema cannot. Throws `config_invalid` with every fault, paths relative to the section. */
export function openParts(config: AuthConfig, host: Host): Parts {
  const faults = createFaultList()
  const file = (path: string): Buffer => host.file(path)
  const apiKeys = apiKeysFromConfig(config.apiKeys, file, faults)
  const fixed = config.jwt ? fixedKeys(config.jwt, file, faults) : []
  const profileToken = config.profile ? checkProfile(config.profile, host, faults) : undefined
  if (!names(config))
    faults.add('', 'nobody could pass: name jwt, apiKeys, trustedHop, clientCertificates or anonymous')
  faults.raise()
  const tokens = config.jwt
    ? createTokens({ config: config.jwt, fixed, fields: config.jwt_payload_fields }, host)
    : undefined
  const profiles = config.profile ? createProfiles(config.profile, host, profileToken) : undefined
  return { tokens, apiKeys, profiles, close: () => tokens?.close() }
}

function names(config: AuthConfig): boolean {
  const { jwt, apiKeys, trustedHop, clientCertificates, anonymous } = config
  return Boolean(jwt || apiKeys.length > 0 || trustedHop || clientCertificates.length > 0 || anonymous)
}

function fixedKeys(jwt: JwtConfig, file: (path: string) => Buffer, faults: FaultList): readonly VerificationKey[] {
  if (jwt.jwksUrl === null && jwt.keys.length === 0) faults.add('jwt', 'name jwksUrl or keys')
  if (jwt.jwksUrl !== null) checkJwksUrl(jwt.jwksUrl, jwt.allowPlainHttp, faults)
  return jwt.keys.flatMap((key, index) => {
    const path = `jwt.keys[${index}]`
    if (!jwt.algorithms.includes(key.alg)) faults.add(`${path}.alg`, 'is not among jwt.algorithms')
    return faults.attempt(path, () => keyFromConfig(key, file)) ?? []
  })
}

const thisMachine = /^(localhost|127(\.\d+){3}|\[::1\])$/

function checkJwksUrl(text: string, allowPlainHttp: boolean, faults: FaultList): void {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol)) faults.add('jwt.jwksUrl', 'must be an https or http URL')
  else if (url.protocol === 'http:' && !allowPlainHttp && !thisMachine.test(url.hostname)) {
    faults.add(
      'jwt.jwksUrl',
      'must be https, since whoever can change the keys can sign tokens (or set allowPlainHttp)',
    )
  }
}

function checkProfile(profile: ProfileConfig, host: Host, faults: FaultList): string | undefined {
  if (profile.kind === 'redis' && host.store.kind !== 'redis')
    faults.add('profile.kind', 'redis needs store.kind redis')
  if (profile.kind !== 'http') return undefined
  const origins = ['a', 'b'].map((each) => originOf((profile.url ?? '').replace(/\{(id|tenant)\}/g, each)))
  if (!origins[0]) faults.add('profile.url', 'must be an https or http URL')
  else if (origins[0] !== origins[1]) faults.add('profile.url', 'must not have the caller in its host')
  const { tokenFile } = profile
  if (tokenFile === null) return undefined
  return faults.attempt('profile.tokenFile', () => withoutNewline(host.file(tokenFile)).toString('latin1'))
}

function originOf(text: string): string | undefined {
  const url = URL.parse(text)
  return url && /^https?:$/.test(url.protocol) ? `${url.username}@${url.origin}` : undefined
}
