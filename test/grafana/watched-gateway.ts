import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { startRunner } from '../../native-runner/runner.ts'
import { createApiKey } from '../../plugins/auth/api-key.ts'
import { createSigningKey } from '../../plugins/jws-key.ts'
import { type FaultyRunner, startFaultyRunner } from '../e2e/faulty-runner.ts'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { startUpstream } from '../support/upstream.ts'
import { patienceMs, scriptedAnswer } from './scripted-answers.ts'

/** A gateway with two runners, a native one that can be made to fail and a scripted one, and callers of all kinds. */
export interface WatchedGateway extends AsyncDisposable {
  readonly gateway: TestGateway
  readonly faulty: FaultyRunner
  /** Where the native runner's own metrics are, and the key that they want. */
  readonly runner: { readonly target: string; readonly apiKey: string }
  /** Asks the native runner, by way of the layer that moves. */
  chat(words: string, more?: object): Promise<number>
  /** Calls that go well, at the native runner. */
  healthy(): Promise<readonly number[]>
  /** Those, and calls of all other kinds; gives back their statuses. */
  mixed(): Promise<readonly number[]>
  /** Moves the layer that moves; throws when that is refused. */
  move(verb: string): Promise<void>
}

const secret = Buffer.from('0123456789abcdef0123456789abcdef')
const apiKey = 'a-runner-key-of-more-than-thirty-two-bytes'
const hashOf = (key: string): string => createHash('sha256').update(key).digest('hex')
const keys = [createApiKey().key, createApiKey().key] as const

/** Starts it all in this process, with the layer postprocess in canary for everybody. */
export async function startWatchedGateway(): Promise<WatchedGateway> {
  const stack = new AsyncDisposableStack()
  const dir = stack.use(createTempDir())
  writeFileSync(dir.file('k1'), secret)
  writeFileSync(dir.file('api-key'), apiKey)
  const signing = [createSigningKey({ kid: 'k1', alg: 'HS256', secret })]
  const runner = await startRunner({
    engine: 'echo',
    model: 'echo',
    server: { port: 0, apiKey },
    execution: { keys: signing },
  })
  stack.defer(() => runner.close(0))
  const faulty = stack.use(await startFaultyRunner(runner.url))
  const upstream = stack.use(await startUpstream(scriptedAnswer))
  const gateway = stack.use(
    await startTestGateway({
      base: dir.path,
      runners: [
        { kind: 'native', url: faulty.url, apiKeyFile: 'api-key' },
        { kind: 'openai', url: upstream.url, firstByteTimeoutMs: patienceMs, ejectAfter: 1_000, maxAttempts: 1 },
      ],
      layers,
      config: {
        access: { debugScope: 'debug' },
        signing: { keys: [{ kid: 'k1', alg: 'HS256', secretFile: 'k1' }] },
        folding: { stages: { postprocess: 'canary' }, policy: { stages: [100] }, shadow: { endToEndSample: 1 } },
      },
    }),
  )
  await gateway.setup().folding.instances?.ready
  const post = async (url: string, body: unknown, key: string = keys[0]): Promise<number> => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` }
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    await response.arrayBuffer()
    return response.status
  }
  const say = (content: string, more: object = {}) => ({
    model: 'echo',
    messages: [{ role: 'user', content }],
    ...more,
  })
  const chat = (words: string, more: object = {}): Promise<number> =>
    post(`${gateway.url}/v1/chat/completions`, say(words, more))
  const healthy = (): Promise<readonly number[]> =>
    Promise.all([
      chat('the same words again and again', { temperature: 0 }),
      chat(`in the gateway ${Math.random()}`, { execution_context: { debug_force_fallback: true } }),
      ...['one', 'two', 'three'].map((words) => chat(`${words} ${Math.random()}`)),
      ...['four', 'five'].map((words) => chat(`${words} ${Math.random()}`, { stream: true })),
    ])
  return {
    gateway,
    faulty,
    runner: { target: new URL(runner.url).host, apiKey },
    chat,
    healthy,
    async mixed() {
      const other = { model: 'scripted' }
      const stranger = { 'content-type': 'application/json', 'x-execution-context': 'no.context.atall' }
      await fetch(`${runner.url}/v1/chat/completions`, { method: 'POST', headers: stranger, body: '{}' })
      const asked = [
        chat(`write to ${Math.random()}@example.com`, other),
        chat(`a tool ${Math.random()}`, { ...other, stream: true }),
        chat(`a slow tool ${Math.random()}`, { ...other, stream: true }),
        chat(`break ${Math.random()}`, other),
        chat(`wait ${Math.random()}`, other),
        chat('nobody has it', { model: 'nobody-has-it' }),
        post(`${gateway.url}/v1/embeddings`, { model: 'echo', input: 'words' }),
        post(`${gateway.url}/v1/chat/completions`, say('who'), 'nobody'),
        post(`${gateway.url}/v1/chat/completions`, say(`too often ${Math.random()}`), keys[1]),
        post(`${runner.url}/v1/chat/completions`, say('past the gateway'), apiKey),
      ]
      return [...(await healthy()), ...(await Promise.all(asked))]
    },
    async move(verb) {
      const body = JSON.stringify({ reason: 'a test' })
      const headers = { 'content-type': 'application/json' }
      const url = `${gateway.adminUrl}/-/layers/postprocess/${verb}`
      const response = await fetch(url, { method: 'POST', headers, body })
      if (!response.ok) throw new Error(`${verb}: ${await response.text()}`)
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

const layers = {
  auth: {
    apiKeys: [
      { id: 'one', hash: hashOf(keys[0]), tenant: 't1', tier: 'free', scopes: ['debug'] },
      { id: 'two', hash: hashOf(keys[1]), tenant: 't2', tier: 'vip' },
    ],
  },
  // The first call of the second tenant is its last.
  'rate-limit': {
    limits: [{ key_fields: ['tenant'], requests_per_minute: 1_000_000, tiers: { vip: { requests_per_minute: 1 } } }],
  },
  cache: { ttl_seconds: 300 },
  routing: {
    targets: [
      { runner: 'a', model: 'echo' },
      { runner: 'b', model: 'scripted' },
    ],
  },
  prompt: {},
  postprocess: { pii: { mode: 'redact', types: ['email'] } },
}
