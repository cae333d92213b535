import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RunnerOptions } from '../../native-runner/runner.ts'
import { type Runner, startRunner } from '../../native-runner/runner.ts'
import { createApiKey } from '../../plugins/auth/api-key.ts'
import { createSigningKey } from '../../plugins/jws-key.ts'
import type { Stage } from '../../plugins/stage.ts'
import type { GatewayOptions } from '../../proxy/gateway.ts'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'
import { createTempDir } from '../support/temp-dir.ts'

/** A gateway and a native runner that share a key, and callers of two tenants. */
export interface FoldingRig extends AsyncDisposable {
  readonly gateway: TestGateway
  readonly runner: Runner
  /** API keys of the tenants t1 and t2. */
  readonly keys: readonly [string, string]
  /** The secret that contexts are signed with. */
  readonly secret: Buffer
  /** Asks a chat through the gateway. */
  chat(body?: object, headers?: Readonly<Record<string, string>>): Promise<Response>
  /** Asks the admin port to move a layer. */
  move(layer: string, verb: string): Promise<Response>
}

/** What a test changes of the rig. */
export interface FoldingRigOptions {
  readonly stages?: Readonly<Record<string, Stage>>
  /** Layers by name, merged over the rig's; undefined takes one out. */
  readonly layers?: Readonly<Record<string, object | undefined>>
  readonly config?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly execution?: NonNullable<RunnerOptions['execution']>
  readonly echo?: Readonly<Record<string, unknown>>
  /** The URL that the gateway is given for the runner's. */
  readonly front?: (url: string) => string
  readonly pace?: GatewayOptions['pace']
}

const hashOf = (key: string): string => createHash('sha256').update(key).digest('hex')

/** Every layer at the runner. */
export const allNative: Readonly<Record<string, Stage>> = {
  auth: 'native',
  'rate-limit': 'native',
  cache: 'native',
  routing: 'native',
  prompt: 'native',
  postprocess: 'native',
}

/** Starts both in this process, over real sockets. The runner has been reached when it resolves. */
export async function startFoldingRig(options: FoldingRigOptions = {}): Promise<FoldingRig> {
  const dir = createTempDir()
  const secret = Buffer.from('0123456789abcdef0123456789abcdef')
  const apiKey = 'a-runner-key-of-more-than-thirty-two-bytes'
  writeFileSync(join(dir.path, 'k1'), secret)
  writeFileSync(join(dir.path, 'api-key'), apiKey)
  const runner = await startRunner({
    engine: 'echo',
    model: 'echo',
    ...options.echo,
    server: { port: 0, apiKey },
    execution: { keys: [createSigningKey({ kid: 'k1', alg: 'HS256', secret })], ...options.execution },
  })
  const keys = [createApiKey().key, createApiKey().key] as const
  const gateway = await startTestGateway({
    base: dir.path,
    ...(options.pace ? { pace: options.pace } : {}),
    runners: [{ kind: 'native', url: options.front?.(runner.url) ?? runner.url, apiKeyFile: 'api-key' }],
    layers: present({ ...layersFor(keys), ...options.layers }),
    config: {
      ...options.config,
      signing: { keys: [{ kid: 'k1', alg: 'HS256', secretFile: 'k1' }] },
      folding: { stages: options.stages ?? {}, ...options.config?.['folding'] },
    },
  })
  await gateway.setup().folding.instances?.ready
  const post = (url: string, body: object, headers: Readonly<Record<string, string>>): Promise<Response> =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
  return {
    gateway,
    runner,
    keys,
    secret,
    chat: (body = {}, headers = {}) => {
      const asked = { model: 'echo', messages: [{ role: 'user', content: 'one two three' }], ...body }
      return post(`${gateway.url}/v1/chat/completions`, asked, { authorization: `Bearer ${keys[0]}`, ...headers })
    },
    move: (layer, verb) => post(`${gateway.adminUrl}/-/layers/${layer}/${verb}`, { reason: 'a test' }, {}),
    async [Symbol.asyncDispose]() {
      await gateway.close()
      await runner.close(0)
      await dir[Symbol.asyncDispose]()
    },
  }
}

function layersFor([one, two]: readonly [string, string]): Record<string, object> {
  return {
    auth: {
      apiKeys: [
        { id: 'one', hash: hashOf(one), tenant: 't1', tier: 'free', scopes: ['debug'] },
        { id: 'two', hash: hashOf(two), tenant: 't2', tier: 'vip' },
      ],
    },
    'rate-limit': { limits: [{ key_fields: ['tenant'], tokens_per_minute: 120_000, burst_capacity: 30_000 }] },
    cache: { ttl_seconds: 300 },
    routing: { targets: [{ runner: 'a', model: 'echo', aliases: ['gpt-4o', 'claude-sonnet'] }] },
    prompt: { templates: { main: { text: 'You serve {{ tenant }}.', version: '1' } }, default: 'main' },
    postprocess: { pii: { mode: 'redact', types: ['email'] } },
  }
}

function present(layers: Readonly<Record<string, object | undefined>>): Record<string, object> {
  return Object.fromEntries(Object.entries(layers).filter(([, layer]) => layer !== undefined)) as Record<string, object>
}

/** What `x-layer-status` says of each layer, parameters and all. */
export function layerStates(response: Response): Record<string, string> {
  const members = (response.headers.get('x-layer-status') ?? '').split(', ')
  return Object.fromEntries(members.map((member) => member.split(/=(.*)/).slice(0, 2) as [string, string]))
}
