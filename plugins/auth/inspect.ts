import type { Seat } from '../host.ts'
import type { StepFinding } from '../layer.ts'
import type { AuthStep } from './step.ts'

/** Whether a runner can verify callers as the step says: reach what it names, and find the secrets it names. */
export function inspectAuth(step: AuthStep, seat: Seat): StepFinding {
  return unverifiable(step) ?? unreachable(step, seat) ?? unresolved(step, seat) ?? { status: 'compiled' }
}

function unverifiable({ trustedHop, clientCertificates }: AuthStep): StepFinding | undefined {
  const path = trustedHop ? 'trustedHop' : clientCertificates.length > 0 ? 'clientCertificates' : undefined
  return path === undefined
    ? undefined
    : { status: 'refused', code: 'UNSUPPORTED_KEYWORD', path, try: 'leave auth in the gateway' }
}

function unreachable({ jwt, profile }: AuthStep, seat: Seat): StepFinding | undefined {
  const urls = [
    ['jwt.jwksUrl', jwt?.jwksUrl],
    ['profile.url', profile?.kind === 'http' ? profile.url?.replace(/\{(id|tenant)\}/g, 'a') : undefined],
  ] as const
  for (const [path, url] of urls) {
    if (!url || seat.allows(url)) continue
    // Only the host is told: the rest of a URL may be nobody's business.
    const value = URL.parse(url)?.host ?? ''
    return { status: 'refused', code: 'EGRESS_DENIED', value, path, try: `start the runner with --egress ${value}` }
  }
  return undefined
}

function unresolved({ jwt, apiKeys, profile }: AuthStep, seat: Seat): StepFinding | undefined {
  const files = [
    ...(jwt?.keys ?? []).map(({ secretFile }, index) => [`jwt.keys[${index}].secretFile`, secretFile] as const),
    ...apiKeys.map(({ hashFile }, index) => [`apiKeys[${index}].hashFile`, hashFile] as const),
    ['profile.tokenFile', profile?.kind === 'http' ? profile.tokenFile : null] as const,
  ]
  const missing = files.find(([, name]) => name !== null && !seat.has(name))
  if (missing) {
    const [path, name] = missing
    const hint = `put the file ${name} into the runner's --secrets-dir`
    return { status: 'refused', code: 'UNRESOLVED_REF', value: name ?? '', path, try: hint }
  }
  if (profile?.kind !== 'redis' || seat.store.kind === 'redis') return undefined
  const hint = 'start the runner with --store redis://…, the one that holds the profiles'
  return { status: 'refused', code: 'UNRESOLVED_REF', value: 'redis', path: 'profile.kind', try: hint }
}
