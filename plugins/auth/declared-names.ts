import type { AuthConfig } from './config.ts'

/** Every name under which this configuration may put something into the principal's claims: paths read it from there and nowhere else. */
export function declaredNames({
  jwt_payload_fields,
  profile,
  trustedHop,
  apiKeys,
  clientCertificates,
}: AuthConfig): readonly string[] {
  const callers = [...apiKeys, ...clientCertificates].flatMap(({ claims = {} }) => Object.keys(claims))
  const names = [
    ...jwt_payload_fields,
    ...(profile?.fields ?? []),
    ...Object.keys(trustedHop?.claimHeaders ?? {}),
    ...callers,
  ]
  return [...new Set(names)]
}
