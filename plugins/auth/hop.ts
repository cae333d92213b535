import type { Call, Principal } from '../call.ts'
import type { CertificateConfig, TrustedHopConfig } from './config-callers.ts'
import type { PeerCertificate } from './facts.ts'
import { scopesFromValue, tenantOf } from './rule.ts'

/** Finds who a trusted hop says is calling. */
export interface TrustedHop {
  /** The caller; undefined when no trusted hop names one; `refused` when a hop's header holds several values. */
  find(call: Call): Principal | 'refused' | undefined
}

/** Makes a {@link TrustedHop}. The hop is trusted by the address of the socket's other end or by its client certificate. */
export function createTrustedHop(config: TrustedHopConfig, trusts: (address: string) => boolean): TrustedHop {
  const names = namesFromConfig(config)
  const certificates = new Set(config.certificates)
  const trusted = ({ facts }: Call): boolean => {
    const address = facts.peer ?? facts.client_ip
    if (address !== undefined && trusts(address)) return true
    return certificates.size > 0 && namesOfCertificate(facts.peerCertificate).some((name) => certificates.has(name))
  }
  return {
    find(call) {
      const id = headerOf(call, names.id)
      if (!id || !trusted(call)) return undefined
      const values = names.all.map((name) => headerOf(call, name))
      // A header that came twice may be half the client's: nothing in it can be believed.
      if (values.some((value) => value?.includes(','))) return 'refused'
      const claims = names.claims.map(([claim, name]) => [claim, headerOf(call, name)] as const)
      return {
        id,
        tenant: headerOf(call, names.tenant) || tenantOf(id, config.defaultTenant),
        tier: headerOf(call, names.tier) ?? '',
        scopes: scopesFromValue(headerOf(call, names.scopes)),
        claims: Object.fromEntries(claims.filter(([, value]) => value !== undefined)),
        method: 'trusted-hop',
      }
    },
  }
}

function namesFromConfig(config: TrustedHopConfig) {
  const claims = Object.entries(config.claimHeaders).map(([claim, name]) => [claim, name.toLowerCase()] as const)
  const [id, tenant, tier, scopes] = [config.idHeader, config.tenantHeader, config.tierHeader, config.scopesHeader].map(
    (name) => name?.toLowerCase(),
  )
  const all = [id, tenant, tier, scopes, ...claims.map(([, name]) => name)].filter((name) => name !== undefined)
  return { id, tenant, tier, scopes, claims, all }
}

function headerOf(call: Call, name: string | undefined): string | undefined {
  if (name === undefined || !Object.hasOwn(call.headers, name)) return undefined
  return call.headers[name]
}

/** Makes a finder of callers by the names of their verified client certificate: the first configured name it bears. */
export function createCertificateCallers(
  entries: readonly CertificateConfig[],
): (certificate: PeerCertificate | undefined) => Principal | undefined {
  const known = new Map<string, Principal>()
  for (const { name, id, tenant, tier, scopes, claims } of entries) {
    known.set(name, { id: id ?? name, tenant, tier, scopes, claims, method: 'mtls' })
  }
  return (certificate) => {
    const name = namesOfCertificate(certificate).find((each) => known.has(each))
    return name === undefined ? undefined : known.get(name)
  }
}

/** The names of a certificate as the configuration writes them: `URI:…`, `DNS:…`, then `CN:…`. */
function namesOfCertificate(certificate: PeerCertificate | undefined): readonly string[] {
  if (!certificate) return []
  return certificate.subject ? [...certificate.san, `CN:${certificate.subject}`] : certificate.san
}
