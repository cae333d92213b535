import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startRunner } from '../../native-runner/runner.ts'
import { createSigningKey } from '../../plugins/jws-key.ts'
import type { StageConstants } from '../../proxy/folding/rollout/stage-constants.ts'
import { type FaultyRunner, startFaultyRunner } from '../e2e/faulty-runner.ts'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'
import { freePort } from '../support/ports.ts'
import { createTempDir } from '../support/temp-dir.ts'

/** Gateways over one store, in front of the same native runners; a fault can be planted on each way from one to another. */
export interface Farm extends AsyncDisposable {
  readonly gateways: readonly TestGateway[]
  /** The way from a gateway to a runner. */
  way(gateway: number, runner: number): FaultyRunner
  /** Asks a chat of a conversation of its own through a gateway. */
  chat(gateway: number): Promise<Response>
  stageAt(gateway: number): string
}

/** How large a {@link Farm} is, and where its gateways keep state. */
export interface FarmOptions {
  readonly gateways: number
  readonly runners: number
  readonly store?: object
}

/** Rates that a few dozen calls tell apart. */
const pace = (constants: StageConstants): StageConstants => ({
  ...constants,
  errors: { ...constants.errors, p0: 0.05, p1: 0.5 },
  fallbacks: { ...constants.fallbacks, p0: 0.05, p1: 0.5 },
})

const apiKey = 'a-runner-key-of-more-than-thirty-two-bytes'

/** Starts a {@link Farm} whose postprocess layer is wholly in canary. */
export async function startFarm({ gateways: many, runners, store }: FarmOptions): Promise<Farm> {
  await using started = new AsyncDisposableStack()
  const dir = started.use(createTempDir())
  const secret = Buffer.alloc(32, 'k')
  writeFileSync(join(dir.path, 'k1'), secret)
  writeFileSync(join(dir.path, 'api-key'), apiKey)
  const execution = { keys: [createSigningKey({ kid: 'k1', alg: 'HS256', secret })] }
  const urls: string[] = []
  for (let index = 0; index < runners; index++) {
    const runner = await startRunner({ engine: 'echo', model: 'echo', server: { port: 0, apiKey }, execution })
    started.defer(() => runner.close(0))
    urls.push(runner.url)
  }
  const ways: FaultyRunner[][] = []
  const gateways: TestGateway[] = []
  for (let index = 0; index < many; index++) {
    const fronts = await Promise.all(urls.map((url) => startFaultyRunner(url)))
    for (const front of fronts) started.use(front)
    ways.push(fronts)
    const gateway = await startTestGateway({
      base: dir.path,
      pace,
      runners: fronts.map(({ url }) => ({ kind: 'native', url, apiKeyFile: 'api-key' })),
      layers: {
        routing: { targets: urls.map((_, at) => ({ runner: String.fromCharCode(97 + at), model: 'echo' })) },
        postprocess: { pii: { mode: 'redact', types: ['email'] } },
      },
      config: {
        // A replica is named by its host and this port.
        admin: { port: await freePort() },
        signing: { keys: [{ kid: 'k1', alg: 'HS256', secretFile: 'k1' }] },
        folding: { stages: { postprocess: 'canary' }, policy: { stages: [100] } },
        ...(store ? { store: { ...store } } : {}),
      },
    })
    started.use(gateway)
    await gateway.setup().folding.instances?.ready
    gateways.push(gateway)
  }
  const all = started.move()
  let calls = 0
  return {
    gateways,
    way: (gateway, runner) => ways[gateway]?.[runner] as FaultyRunner,
    chat(gateway) {
      const call = ++calls
      return fetch(`${gateways[gateway]?.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-conversation-id': `c${call}` },
        body: JSON.stringify({ model: 'echo', messages: [{ role: 'user', content: `call ${call}` }] }),
      })
    },
    stageAt: (gateway) => gateways[gateway]?.setup().folding.stageOf('postprocess').stage ?? '',
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}
