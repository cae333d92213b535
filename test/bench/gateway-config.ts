import { layers } from '../../plugins/index.ts'
import { createKey, signToken } from '../support/jwt.ts'

/** The settings of the layers as they are measured, and a token that auth accepts. */
export interface LayerSettings {
  /** All layers there are, ready to be served by any caller with the token. */
  readonly all: Readonly<Record<string, unknown>>
  /** Auth with scopes and a profile from Redis, as it is by default. */
  readonly authOnRedis: unknown
  /** The same, with nothing remembered: each call is verified and looked up. */
  readonly authForgetful: unknown
  readonly token: string
}

/** Key of the profile that {@link LayerSettings.authOnRedis} looks up. */
export const profileKey = 'profile:bench'

/** Makes the settings, with a signing key of their own (RS256, 2048 bits). */
export async function createLayerSettings(): Promise<LayerSettings> {
  const key = await createKey('RS256')
  const now = Math.floor(Date.now() / 1000)
  const claims = {
    iss: 'https://bench.test',
    aud: 'bench',
    sub: 'bench',
    tenant: 'bench',
    tier: 'vip',
    scope: 'inference',
  }
  const token = await signToken(key, { ...claims, iat: now, exp: now + 86_400 })
  const jwt = { issuer: claims.iss, audience: claims.aud, keys: [{ kid: key.kid, alg: key.alg, pem: key.publicPem }] }
  const profile = { kind: 'redis', key: 'profile:{id}', fields: ['plan'] }
  const auth = { jwt, required_scopes: ['inference'] }
  return {
    token,
    all: known({ ...settings, auth }),
    authOnRedis: { ...auth, profile },
    authForgetful: { ...auth, jwt: { ...jwt, cacheMs: 0 }, profile: { ...profile, cacheMs: 0 } },
  }
}

const most = 10_000_000_000

const settings: Readonly<Record<string, unknown>> = {
  'rate-limit': { limits: [{ key_fields: ['tenant'], tokens_per_minute: most, requests_per_minute: most }] },
  cache: { ttl_seconds: 300 },
  routing: { targets: [{ runner: 'bench', model: 'bench' }] },
  prompt: {
    templates: { house: { text: 'You are a helpful assistant. Answer briefly. It is {{ now_utc }}.' } },
    context: { keepTurns: 10 },
  },
  postprocess: { pii: { mode: 'redact', types: ['email', 'card'] } },
}

function foldedInto(secretFile: string, sections: Readonly<Record<string, unknown>>): object {
  return {
    signing: { keys: [{ kid: 'bench', alg: 'HS256', secretFile }] },
    folding: { stages: Object.fromEntries(Object.keys(sections).map((name) => [name, 'native'])) },
  }
}

function known(sections: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const there = new Set<string>(layers.map(({ name }) => name))
  return Object.fromEntries(Object.entries(sections).filter(([name]) => there.has(name)))
}

/** Where a gateway listens, what is behind it and which layers it has. */
export interface GatewayPlaces {
  readonly port: number
  readonly adminPort: number
  readonly upstream: number
  readonly layers: Readonly<Record<string, unknown>>
  /** Redis for state; absent: the embedded store. */
  readonly redis?: string
  /** File of the secret that contexts are signed with: the runner is a native one, and every layer sits there. */
  readonly native?: string
}

/** The configuration file of a gateway; JSON is YAML. Metrics are on, as always; no spans are exported and only warnings are logged. */
export function gatewayConfig({ port, adminPort, upstream, layers: sections, redis, native }: GatewayPlaces): string {
  return JSON.stringify({
    listen: { host: '127.0.0.1', port },
    admin: { host: '127.0.0.1', port: adminPort },
    store: redis ? { kind: 'redis', url: redis } : { kind: 'embedded' },
    runners: [
      {
        name: 'bench',
        kind: native ? 'native' : 'openai',
        url: `http://127.0.0.1:${upstream}`,
        ...(native ? { apiKeyFile: native } : {}),
      },
    ],
    ...(native ? foldedInto(native, sections) : {}),
    layers: sections,
    drain: { delayMs: 0, graceMs: 1000 },
    telemetry: { logLevel: 'warn' },
  })
}
