import type { Call, Principal } from '../call.ts'
import { sha256 } from '../canonical.ts'
import { GatewayError, gatewayError } from '../errors.ts'
import type { Host } from '../host.ts'
import type { Acting } from '../layer.ts'
import { refuse, type Verdict } from '../verdict.ts'
import type { ApiKeys } from './api-key.ts'
import type { AuthConfig } from './config.ts'
import { credentialFromHeaders } from './credential.ts'
import { createCertificateCallers, createTrustedHop } from './hop.ts'
import { openParts, type Parts } from './parts.ts'
import type { Found, Profiles } from './profile.ts'
import { admit, unauthenticated, withProfile } from './rule.ts'
import type { Identity, Tokens } from './tokens.ts'

/** The gateway half of auth. Throws `config_invalid` with every fault of the configuration. */
export function openAuth(config: AuthConfig, host: Host): Acting {
  return actingOver(config, openParts(config, host), host)
}

/** The layer over opened parts, whichever side it sits on; closing it closes them. */
export function actingOver(config: AuthConfig, parts: Parts, host: Host): Acting {
  const { tokens, apiKeys, profiles } = parts
  const hop = config.trustedHop ? createTrustedHop(config.trustedHop, (address) => host.trusts(address)) : undefined
  const certificateCaller = createCertificateCallers(config.clientCertificates)
  const anonymous = anonymousFromConfig(config)
  const credentials = tokens || apiKeys.size > 0 ? createCredentials(config, apiKeys, tokens) : undefined

  const identify = (call: Call): Identity | Promise<Identity> => {
    const named = hop?.find(call)
    if (named) return named === 'refused' ? unauthenticated('hop-headers') : named
    // A credential that is there must be right; nobody becomes anonymous by a wrong one.
    const borne = credentials?.(call)
    if (borne) return borne
    return certificateCaller(call.facts.peerCertificate) ?? anonymous ?? unauthenticated('no-credential')
  }
  const judge = createJudge(config, profiles)
  return {
    decide(call, mode) {
      const identity = identify(call)
      const said = identity instanceof Promise ? identity.then(judge) : judge(identity)
      if (mode === 'observe') return said
      return said instanceof Promise ? said.then((verdict) => counted(verdict, host)) : counted(said, host)
    },
    async close() {
      parts.close()
    },
  }
}

/** Finds who a call's credential stands for; undefined when it bears none. */
type Credentials = (call: Call) => Identity | Promise<Identity> | undefined

function createCredentials(config: AuthConfig, apiKeys: ApiKeys, tokens: Tokens | undefined): Credentials {
  return (call) => {
    const credential = credentialFromHeaders(call.headers, config.credentialHeaders)
    if (credential.kind === 'none') return undefined
    if (credential.kind === 'refused') return unauthenticated(credential.reason)
    const hash = sha256(credential.text)
    const holder = apiKeys.find(hash)
    if (holder) return holder
    if (!tokens || credential.kind === 'api-key') return unauthenticated('unknown-api-key')
    return tokens.identify(credential.text, hash, call.now)
  }
}

function createJudge(
  config: AuthConfig,
  profiles: Profiles | undefined,
): (identity: Identity) => Verdict | Promise<Verdict> {
  const enriched = (principal: Principal, found: Found): Verdict => {
    if (found === 'failed' && config.profile?.onFailure === 'refuse') return refuse(noProfile())
    const whole = typeof found === 'string' ? principal : withProfile(principal, found)
    return admit(whole, config.required_scopes)
  }
  return (identity) => {
    if (identity instanceof GatewayError) return refuse(identity)
    if (!profiles || identity.method === 'anonymous') return admit(identity, config.required_scopes)
    const found = profiles.find(identity)
    return found instanceof Promise ? found.then((each) => enriched(identity, each)) : enriched(identity, found)
  }
}

function noProfile(): GatewayError {
  return gatewayError('auth_unavailable', 'the profile of the caller cannot be looked up', { retryAfterMs: 1_000 })
}

function counted(verdict: Verdict, host: Host): Verdict {
  if (verdict.kind === 'refuse') host.count('auth.refused')
  return verdict
}

function anonymousFromConfig({ anonymous }: AuthConfig): Principal | undefined {
  if (anonymous === false) return undefined
  const { id, tenant, tier, scopes } =
    anonymous === true ? { id: 'anonymous', tenant: 'anonymous', tier: '', scopes: [] } : anonymous
  return { id, tenant, tier, scopes, claims: {}, method: 'anonymous' }
}
