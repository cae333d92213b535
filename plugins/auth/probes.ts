import type { Probe } from '../layer.ts'
import type { AuthStep } from './step.ts'

// Of a key pair that was made for this and whose private half is gone: no such token opens anything anywhere.
const publicKey = { kty: 'OKP', crv: 'Ed25519', x: 'x_J956_0UxPJgEwzSF8Yb_IDFoiyUDHLEhdx8OsUcM0' }
const tokens = {
  good: 'eyJhbGciOiJFZERTQSIsImtpZCI6InByb2JlIiwidHlwIjoiSldUIn0.eyJpc3MiOiJwcm9iZS1pc3N1ZXIiLCJhdWQiOiJwcm9iZS1nYXRld2F5Iiwic3ViIjoiYWRhIiwidGVuYW50IjoiYWNtZSIsInNjb3BlIjoiY2hhdCIsImV4cCI6NDEwMjQ0NDgwMH0.WbTh-UObut3tHyMrO_2gacvZJ_4_kXYzBZN1g9l629n0yfI7Qm6Lix1tdSZLl2Dr1GGHwCkNG9-lVhhxiPhvBQ',
  expired:
    'eyJhbGciOiJFZERTQSIsImtpZCI6InByb2JlIiwidHlwIjoiSldUIn0.eyJpc3MiOiJwcm9iZS1pc3N1ZXIiLCJhdWQiOiJwcm9iZS1nYXRld2F5Iiwic3ViIjoiYWRhIiwidGVuYW50IjoiYWNtZSIsInNjb3BlIjoiY2hhdCIsImV4cCI6MTg5OTk5OTAwMH0.bxKh5_OBOytZMSrBZqrLkZHSWuY7L6F3nmdTNHqNkOXr8TDnp8wEbA2SA0EQNjJhz--qP5IMP7zFQuxfFJXkDA',
  endless:
    'eyJhbGciOiJFZERTQSIsImtpZCI6InByb2JlIiwidHlwIjoiSldUIn0.eyJpc3MiOiJwcm9iZS1pc3N1ZXIiLCJhdWQiOiJwcm9iZS1nYXRld2F5Iiwic3ViIjoiYWRhIiwidGVuYW50IjoiYWNtZSIsInNjb3BlIjoiY2hhdCJ9.PefI4ys24bVsJsU6cn2er2L59HBFFRzjeSudH7A9ZS0hJ-epZECPMT5yyzcT2SVhB7mHWxw6OJfwwIdZPRNoDQ',
  ofAnotherAudience:
    'eyJhbGciOiJFZERTQSIsImtpZCI6InByb2JlIiwidHlwIjoiSldUIn0.eyJpc3MiOiJwcm9iZS1pc3N1ZXIiLCJhdWQiOiJhbm90aGVyIiwic3ViIjoiYWRhIiwidGVuYW50IjoiYWNtZSIsInNjb3BlIjoiY2hhdCIsImV4cCI6NDEwMjQ0NDgwMH0.HrkXSusLOvz823Eu1HG3YQ86R_AaI_KFWifbqJ3WQTSEto0ncHbbCP8m6ocegOKComQkCK0uQA7AzbRPBGqRAA',
  ofAnotherKey:
    'eyJhbGciOiJFZERTQSIsImtpZCI6InByb2JlIiwidHlwIjoiSldUIn0.eyJpc3MiOiJwcm9iZS1pc3N1ZXIiLCJhdWQiOiJwcm9iZS1nYXRld2F5Iiwic3ViIjoiYWRhIiwidGVuYW50IjoiYWNtZSIsInNjb3BlIjoiY2hhdCIsImV4cCI6NDEwMjQ0NDgwMH0.G1lZ44oRleHOwruUld3jPKUZQhcZdrxf5LV7KMFZGxaB39KLClBOkymE_MhVBj-v0af4Ami69aK_BgQBJtVaAg',
  // HS256, with the public key as the secret.
  ofThePublicKey:
    'eyJhbGciOiJIUzI1NiIsImtpZCI6InByb2JlIiwidHlwIjoiSldUIn0.eyJpc3MiOiJwcm9iZS1pc3N1ZXIiLCJhdWQiOiJwcm9iZS1nYXRld2F5Iiwic3ViIjoiYWRhIiwidGVuYW50IjoiYWNtZSIsInNjb3BlIjoiY2hhdCIsImV4cCI6NDEwMjQ0NDgwMH0.aPYJEZacRkA9IADE6mjUJfPS8Te4DlRJPUlgn0RejUA',
  withoutTheScope:
    'eyJhbGciOiJFZERTQSIsImtpZCI6InByb2JlIiwidHlwIjoiSldUIn0.eyJpc3MiOiJwcm9iZS1pc3N1ZXIiLCJhdWQiOiJwcm9iZS1nYXRld2F5Iiwic3ViIjoiYWRhIiwidGVuYW50IjoiYWNtZSIsInNjb3BlIjoibW9kZWxzIiwiZXhwIjo0MTAyNDQ0ODAwfQ.nq0-hKkoZjyDkpIao92ASkCPNius_FR7ettkfVa6gOOiaU9CANPsJt5b7eADqyo8Hm2V4ISa-hEcuac9xFGFCw',
}
const apiKey = { text: 'fg_probe-key', hash: '137db70ca9da798e61e295ea41bfa478069b1c8bfa4d7af7767e1ff188a9952f' }

const step: AuthStep = {
  jwt: {
    issuer: 'probe-issuer',
    audience: 'probe-gateway',
    jwksUrl: null,
    allowPlainHttp: false,
    keys: [{ kid: 'probe', alg: 'EdDSA', jwk: publicKey, secretFile: null }],
    algorithms: ['EdDSA', 'HS256'],
    rsaAlgorithm: 'RS256',
    typ: null,
    leewayMs: 30_000,
    maxAgeMs: 5_000,
    coolOffMs: 1_000,
    timeoutMs: 2_000,
    maxStaleMs: null,
    cacheMs: 5_000,
    cacheEntries: 100,
    idClaim: 'sub',
    tenantClaim: 'tenant',
    tierClaim: 'tier',
    scopeClaim: null,
    defaultTenant: null,
    defaultTier: '',
  },
  apiKeys: [
    {
      id: 'ci',
      hash: apiKey.hash,
      hashFile: null,
      tenant: 'acme',
      tier: 'free',
      scopes: ['chat'],
      claims: { team: 'a' },
    },
  ],
  trustedHop: null,
  clientCertificates: [],
  anonymous: false,
  credentialHeaders: ['authorization', 'x-api-key', 'api-key'],
  required_scopes: ['chat'],
  jwt_payload_fields: ['sub'],
  profile: null,
}
const body = { model: 'probe', messages: [{ role: 'user', content: 'ping' }] }
const bearing = (credential: string) => ({ step, body, headers: { authorization: `Bearer ${credential}` } })
const passes = { o: 'pass' } as const
const unauthenticated = { o: 'refuse', code: 'unauthenticated' } as const

/** What a runner must say of callers with right and with wrong credentials. */
export const authProbes: readonly Probe<AuthStep>[] = [
  { title: 'an API key lets its caller pass', ...bearing(apiKey.text), expect: passes },
  {
    title: 'an API key in a header of its own lets its caller pass',
    step,
    body,
    headers: { 'x-api-key': apiKey.text },
    expect: passes,
  },
  { title: 'a wrong API key is refused', ...bearing('fg_probe-kex'), expect: unauthenticated },
  { title: 'a call without a credential is refused', step, body, expect: unauthenticated },
  {
    title: 'two credentials are refused, both right or not',
    step,
    body,
    headers: { authorization: `Bearer ${tokens.good}`, 'x-api-key': apiKey.text },
    expect: unauthenticated,
  },
  { title: 'a token lets its caller pass', ...bearing(tokens.good), expect: passes },
  { title: 'an expired token is refused', ...bearing(tokens.expired), expect: unauthenticated },
  { title: 'a token that never expires is refused', ...bearing(tokens.endless), expect: unauthenticated },
  { title: 'a token for another audience is refused', ...bearing(tokens.ofAnotherAudience), expect: unauthenticated },
  { title: 'a token that another key signed is refused', ...bearing(tokens.ofAnotherKey), expect: unauthenticated },
  {
    title: 'a token signed with the public key as a secret is refused',
    ...bearing(tokens.ofThePublicKey),
    expect: unauthenticated,
  },
  {
    title: 'a token without a required scope is forbidden',
    ...bearing(tokens.withoutTheScope),
    expect: { o: 'refuse', code: 'forbidden' },
  },
]
