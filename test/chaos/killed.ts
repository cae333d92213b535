import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startRunner } from '../../native-runner/runner.ts'
import { createSigningKey } from '../../plugins/jws-key.ts'
import { stateKeys } from '../../proxy/folding/state/scripts.ts'
import { until } from '../support/gate.ts'
import { freePort } from '../support/ports.ts'
import { type RunningProcess, startProcess } from '../support/processes.ts'
import type { Redis } from '../support/redis.ts'
import { createTempDir } from '../support/temp-dir.ts'

/** A gateway that is a process of its own. */
export interface GatewayProcess {
  readonly child: RunningProcess
  readonly admin: string
  readonly url: string
}

/** Gateways as processes over one Redis, in front of one runner. */
export interface Fleet extends AsyncDisposable {
  readonly gateways: GatewayProcess[]
  /** Starts one more. */
  grow(): Promise<GatewayProcess>
  /** The gateway that leads, once somebody does. */
  leader(): Promise<GatewayProcess>
  stage(gateway: GatewayProcess): Promise<string>
  /** Every stage that was written, oldest first. */
  path(gateway: GatewayProcess): Promise<readonly string[]>
  ask(gateway: GatewayProcess, verb: string): Promise<number>
  chat(gateway: GatewayProcess): Promise<number>
}

const entry = join(import.meta.dirname, '../../proxy/cli/foldgate.ts')
const layer = 'postprocess'
const apiKey = 'a-runner-key-of-more-than-thirty-two-bytes'

/** Starts so many gateways. */
export async function startFleet(count: number, redis: Pick<Redis, 'url' | 'cli'>): Promise<Fleet> {
  await using started = new AsyncDisposableStack()
  const dir = started.use(createTempDir())
  const secret = Buffer.alloc(32, 'k')
  writeFileSync(dir.file('k1'), secret)
  writeFileSync(dir.file('api-key'), apiKey)
  const execution = { keys: [createSigningKey({ kid: 'k1', alg: 'HS256' as const, secret })] }
  const runner = await startRunner({ engine: 'echo', model: 'echo', server: { port: 0, apiKey }, execution })
  started.defer(() => runner.close(0))
  const gateways: GatewayProcess[] = []
  let owner: AsyncDisposableStack = started
  const grow = async (): Promise<GatewayProcess> => {
    const port = await freePort()
    const file = dir.file(`gateway-${port}.json`)
    writeFileSync(file, JSON.stringify(configFor({ port, runner: runner.url, redis: redis.url })))
    const child = await startProcess({
      args: [entry, 'serve', file],
      ready: /"url":"(http:[^"]+)","admin":"(http:[^"]+)"/,
      readyWithinMs: 30_000,
      politeMs: 500,
    })
    owner.use(child)
    const [, url = '', admin = ''] = child.readyMatch
    const gateway = { child, url, admin }
    gateways.push(gateway)
    return gateway
  }
  await Promise.all(Array.from({ length: count }, grow))
  // Those that are started later go with the fleet as well.
  const all = started.move()
  owner = all
  const fleet: Fleet = {
    gateways,
    grow,
    async leader() {
      // A replica is named by its host and its admin port.
      const find = async () => {
        const holder = await redis.cli('get', `foldgate:${stateKeys.lease}`)
        return gateways.find(({ admin }) => holder.split(':').at(-2) === new URL(admin).port)
      }
      const found: GatewayProcess[] = []
      const look = async (): Promise<boolean> => {
        const gateway = await find()
        if (gateway) found.push(gateway)
        return gateway !== undefined
      }
      await until(look, 'somebody leads', 20_000)
      return found[0] as GatewayProcess
    },
    async stage({ admin }) {
      const { layers } = (await json(`${admin}/-/layers`)) as { layers: { name: string; stage: string }[] }
      return layers.find(({ name }) => name === layer)?.stage ?? ''
    },
    async path({ admin }) {
      const { changes } = (await json(`${admin}/-/history`)) as { changes: { layer: string; to: string }[] }
      return changes.filter((change) => change.layer === layer).map(({ to }) => to)
    },
    ask: async ({ admin }, verb) => (await post(`${admin}/-/layers/${layer}/${verb}`, { reason: 'a test' })).status,
    async chat({ url }) {
      const response = await post(`${url}/v1/chat/completions`, {
        model: 'echo',
        messages: [{ role: 'user', content: 'one two' }],
      })
      await response.text()
      return response.status
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
  return fleet
}

function configFor({ port, runner, redis }: { port: number; runner: string; redis: string }) {
  return {
    listen: { port: 0 },
    admin: { port },
    store: { kind: 'redis', url: redis },
    signing: { keys: [{ kid: 'k1', alg: 'HS256', secretFile: 'k1' }] },
    runners: [{ name: 'a', kind: 'native', url: runner, apiKeyFile: 'api-key' }],
    layers: { postprocess: { pii: { mode: 'redact', types: ['email'] } } },
    folding: { stateFile: null, policy: { stages: [10, 50, 100] } },
  }
}

async function json(url: string): Promise<unknown> {
  return (await fetch(url)).json()
}

function post(url: string, body: object): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(8_000),
  })
}
