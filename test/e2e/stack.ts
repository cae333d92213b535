import { createHash } from 'node:crypto'
import { startRunner } from '../../native-runner/runner.ts'
import { createApiKey } from '../../plugins/auth/api-key.ts'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'

/** All six layers in front of the echo engine: an API key for each of two tenants. */
export interface Stack extends AsyncDisposable {
  readonly gateway: TestGateway
  readonly key: string
  readonly otherKey: string
  /** How often the runner has been asked. */
  asked(): Promise<number>
}

/** What a test changes of the six layers. */
export interface StackOptions {
  readonly layers?: Readonly<Record<string, object>>
  readonly config?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

const hashOf = (key: string): string => createHash('sha256').update(key).digest('hex')

/** Starts runner and gateway in this process. */
export async function startStack({ layers = {}, config = {} }: StackOptions = {}): Promise<Stack> {
  const runner = await startRunner({ engine: 'echo', model: 'echo', server: { port: 0 } })
  const [one, two] = [createApiKey().key, createApiKey().key]
  const gateway = await startTestGateway({
    runners: [runner.url],
    layers: {
      auth: {
        apiKeys: [
          { id: 'one', hash: hashOf(one), tenant: 't1', tier: 'free' },
          { id: 'two', hash: hashOf(two), tenant: 't2', tier: 'vip' },
        ],
      },
      'rate-limit': { limits: [{ key_fields: ['tenant'], tokens_per_minute: 120_000, burst_capacity: 30_000 }] },
      cache: { ttl_seconds: 300 },
      routing: { targets: [{ runner: 'a', model: 'echo', aliases: ['gpt-4o', 'claude-sonnet'] }] },
      prompt: {},
      postprocess: { pii: { mode: 'redact', types: ['email'] } },
      ...layers,
    },
    config,
  })
  return {
    gateway,
    key: one,
    otherKey: two,
    async asked() {
      const text = await (await fetch(`${runner.url}/metrics`)).text()
      const counts = [...text.matchAll(/^foldgate_runner_requests_total\{[^}]*\} (\d+)/gm)].map(([, count]) =>
        Number(count),
      )
      return counts.reduce((sum, count) => sum + count, 0)
    },
    async [Symbol.asyncDispose]() {
      await gateway.close()
      await runner.close(0)
    },
  }
}
