import { createHash } from 'node:crypto'

/** What a layer is held to the laws with: settings of it, and bodies that make it do something. */
export interface LawCase {
  readonly title: string
  readonly config: unknown
  readonly bodies: readonly unknown[]
  readonly headers?: Readonly<Record<string, string>>
}

const key = 'fg_law'
const chat = (content: unknown, more: object = {}): unknown => ({
  model: 'small',
  messages: [{ role: 'user', content }],
  ...more,
})

/** Cases by layer; every layer needs one at least. */
export const lawCases: Readonly<Record<string, readonly LawCase[]>> = {
  auth: [
    {
      title: 'API keys',
      config: { apiKeys: [{ id: 'k', hash: createHash('sha256').update(key).digest('hex'), tenant: 't' }] },
      bodies: [chat('hi')],
      headers: { authorization: `Bearer ${key}` },
    },
    {
      title: 'a wrong key',
      config: { apiKeys: [{ id: 'k', hash: 'a'.repeat(64), tenant: 't' }] },
      bodies: [chat('hi')],
    },
    { title: 'anonymous', config: { anonymous: true }, bodies: [chat('hi')] },
  ],
  'rate-limit': [
    {
      title: 'tokens and requests',
      config: { limits: [{ key_fields: ['tenant'], tokens_per_minute: 100, requests_per_minute: 3 }] },
      bodies: [chat('a few words', { max_tokens: 10 }), chat('x '.repeat(500))],
    },
    { title: 'concurrency', config: { limits: [{ key_fields: ['client_ip'], concurrent: 1 }] }, bodies: [chat('hi')] },
  ],
  cache: [
    { title: 'the whole body', config: { ttl_seconds: 60 }, bodies: [chat('hi'), chat('hi', { temperature: 0 })] },
    {
      title: 'chosen fields',
      config: {
        ttl_seconds: 60,
        input_hash_fields: ['messages[-1].content', { path: 'metadata.day', precision: 'int64' }],
      },
      bodies: [chat('hi'), chat('hi', { metadata: { day: 3 } })],
    },
  ],
  routing: [
    {
      title: 'two targets',
      config: {
        targets: [
          { runner: 'a', model: 'small', weight: 3 },
          { runner: 'b', model: 'large', weight: 1, min_tokens: 10 },
        ],
      },
      bodies: [chat('hi'), chat('hi', { model: 'auto' }), chat('hi', { model: 'unknown' })],
    },
  ],
  prompt: [
    {
      title: 'a template with a clock',
      config: { templates: { main: { text: 'You serve {{ tenant }}. It is {{ now_utc }}.', version: '1' } } },
      bodies: [chat('hi'), chat([{ type: 'text', text: 'hi' }])],
    },
    {
      title: 'a missing variable',
      config: { templates: { main: { text: '{{ nothing_fills_this }}', version: '1' } } },
      bodies: [chat('hi')],
    },
  ],
  postprocess: [
    {
      title: 'PII and phrases',
      config: { pii: { mode: 'redact', types: ['email', 'card'] }, forbidden_phrases: ['forbidden'], suffix: null },
      bodies: [chat('hi'), chat('hi', { response_format: { type: 'json_object' } })],
    },
  ],
}

/** Configurations of layers that name secret files. */
export const secretConfigs: Readonly<Record<string, unknown>> = {
  auth: {
    apiKeys: [{ id: 'k', hashFile: '/run/secrets/key-hash', tenant: 't' }],
    jwt: {
      issuer: 'https://issuer.example',
      audience: 'foldgate',
      algorithms: ['HS256'],
      keys: [{ kid: 'h', alg: 'HS256', secretFile: '/run/secrets/token-secret' }],
    },
  },
}
