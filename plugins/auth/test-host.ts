import { createHash } from 'node:crypto'
import { createTestHost, type TestHost, type TestHostOverrides } from '../../test/support/host.ts'
import { createKey, signToken, type TestKey } from '../../test/support/jwt.ts'
import { type Call, createCall, type Facts, type Principal } from '../call.ts'
import { type GatewayError, gatewayError } from '../errors.ts'
import type { Acting, Mode } from '../layer.ts'
import type { Verdict } from '../verdict.ts'
import { auth } from './index.ts'

/** The issuer of the tests' tokens. */
export const issuer = 'https://id.example'
/** The audience of the tests' tokens. */
export const audience = 'gateway'
/** Where the issuer's key set is. */
export const jwksUrl = 'https://id.example/keys'

/** The auth layer opened over a test host. */
export interface AuthRig {
  readonly host: TestHost
  readonly acting: Acting
  /** What the layer says; the promise only where it gives one. */
  decide(headers: Readonly<Record<string, string>>, facts?: Partial<Facts>, mode?: Mode): Verdict | Promise<Verdict>
  /** Whom it lets pass; throws what it refuses with. */
  principal(headers: Readonly<Record<string, string>>, facts?: Partial<Facts>): Promise<Principal>
  /** What it refuses with; throws when it lets pass. */
  refusal(headers: Readonly<Record<string, string>>, facts?: Partial<Facts>): Promise<GatewayError>
}

/** Opens the layer as a configuration would: defaults filled in, files by name. */
export async function openAuthRig(config: unknown, overrides: TestHostOverrides = {}): Promise<AuthRig> {
  const host = createTestHost(overrides)
  const acting = await auth.open(auth.config.parse(config), host)
  const decide: AuthRig['decide'] = (headers, facts, mode = 'enforce') =>
    acting.decide?.(callAt(host, headers, facts), mode) as Verdict
  return {
    host,
    acting,
    decide,
    async principal(headers, facts) {
      const verdict = await decide(headers, facts)
      if (verdict.kind !== 'pass')
        throw verdict.kind === 'refuse' ? verdict.error : gatewayError('internal', 'was answered')
      return verdict.facts.principal as Principal
    },
    async refusal(headers, facts) {
      const verdict = await decide(headers, facts)
      if (verdict.kind !== 'refuse') throw gatewayError('internal', `was not refused but ${verdict.kind}`)
      return verdict.error
    },
  }
}

function callAt(host: TestHost, headers: Readonly<Record<string, string>>, facts: Partial<Facts> = {}): Call {
  return createCall({
    id: '0'.repeat(32),
    route: 'chat',
    now: host.clock.now(),
    body: Buffer.from('{}'),
    headers,
    facts: { client_ip: '203.0.113.7', ...facts },
    signal: new AbortController().signal,
  })
}

/** The headers of a call that bears a token or an API key. */
export const bearing = (credential: string): Record<string, string> => ({ authorization: `Bearer ${credential}` })

/** Claims that are right at the instant a test begins; an hour to live. */
export const goodClaims = { iss: issuer, aud: audience, sub: 'ada', exp: 1_700_000_000 + 3_600 }

/** A token of these claims over the good ones. */
export const tokenOf = (key: TestKey, claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}) =>
  signToken(key, { ...goodClaims, ...claims }, { header })

/** Answers the key set with these keys from now on. */
export function publish(host: TestHost, ...keys: readonly TestKey[]): void {
  const body = Buffer.from(JSON.stringify({ keys: keys.map((key) => key.publicJwk) }))
  host.answers.set(jwksUrl, () => ({ body }))
}

/** A rig whose tokens are verified by a fetched key set. */
export async function openJwksRig(keys: readonly TestKey[], jwt: object = {}, more: object = {}): Promise<AuthRig> {
  const rig = await openAuthRig({ jwt: { issuer, audience, jwksUrl, ...jwt }, ...more })
  publish(rig.host, ...keys)
  return rig
}

const made = new Map<string, Promise<TestKey>>()

/** A key by its id, made once for a test file: making RSA keys is slow. */
export function keyNamed(kid: string, alg: TestKey['alg'] = 'ES256'): Promise<TestKey> {
  const key = made.get(`${kid}/${alg}`) ?? createKey(alg, kid)
  made.set(`${kid}/${alg}`, key)
  return key
}

/** SHA-256 in hex, computed without the code under test. */
export const hexHash = (text: string): string => createHash('sha256').update(text).digest('hex')
