import { describe, expect, it } from 'vitest'
import { createGate, until } from '../../../test/support/gate.ts'
import { failOnLeaks } from '../../../test/support/leaks.ts'
import { wordsLayer } from '../test-layers.ts'
import { createRig, type Rig, settingsOf } from '../test-rig.ts'
import { createInstances, type Instances, type InstancesParts } from './instances.ts'
import type { TestRunner } from './test-runner.ts'

failOnLeaks()

const gate = wordsLayer('gate')
const meter = wordsLayer('meter', { stateful: true })

interface Pair extends AsyncDisposable {
  readonly rig: Rig
  readonly runners: readonly [TestRunner, TestRunner]
  readonly instances: Instances
  /** What the name leads to; change it at any time. */
  addresses: readonly string[]
}

/** Two runners behind one name, on 127.0.0.1 and 127.0.0.2. */
async function startPair(init: { boots?: readonly [string, string]; state?: 'shared' } = {}): Promise<Pair> {
  const rig = createRig([gate, meter])
  const [one, two] = init.boots ?? ['b_1', 'b_2']
  const capabilities = init.state ? { state: init.state } : {}
  const first = await rig.runner({ boot: one, capabilities })
  const second = await rig.runner({ boot: two, address: '127.0.0.2', port: first.port, capabilities })
  const pair = { rig, runners: [first, second] as const, addresses: ['127.0.0.1', '127.0.0.2'] as readonly string[] }
  const instances = createInstances(partsOf(rig, `http://runners.test:${first.port}`, async () => pair.addresses))
  await instances.ready
  return Object.assign(pair, {
    instances,
    async [Symbol.asyncDispose]() {
      await instances.close()
      await rig[Symbol.asyncDispose]()
    },
  })
}

function partsOf(rig: Rig, url: string, lookup: NonNullable<InstancesParts['lookup']>): InstancesParts {
  return { ...rig.parts, runners: [settingsOf(url)], ackKeys: new Map(), lookup }
}

const bootsOf = (instances: Instances) => instances.of('gpu-a').map(({ capabilities }) => capabilities?.boot)

describe('a name with two addresses', () => {
  it('is two processes, each asked under the name at its own address', async () => {
    await using pair = await startPair()
    expect(bootsOf(pair.instances)).toEqual(['b_1', 'b_2'])
    for (const { asked, given, port } of pair.runners) {
      expect(new Set(asked.map(({ headers }) => headers.host))).toEqual(new Set([`runners.test:${port}`]))
      expect(given(pair.rig.digest)).toHaveLength(1)
    }
  })

  it('folds a layer with state only where they share it', async () => {
    await using local = await startPair()
    const whyNot = (pair: Pair, layer: string) =>
      pair.instances.of('gpu-a').map((instance) => instance.whyNot(layer, pair.rig.digest)?.reason)
    expect(whyNot(local, 'gate')).toEqual([undefined, undefined])
    expect(whyNot(local, 'meter')).toEqual(['unsupported-layer', 'unsupported-layer'])
    await using shared = await startPair({ state: 'shared' })
    expect(whyNot(shared, 'meter')).toEqual([undefined, undefined])
  })

  it('is one process where both lead to the same', async () => {
    await using pair = await startPair({ boots: ['b_1', 'b_1'] })
    expect(bootsOf(pair.instances)).toEqual(['b_1'])
    expect(pair.instances.pick('gpu-a')?.whyNot('meter', pair.rig.digest)).toBeUndefined()
  })

  it('gives a call to the process with the fewest under way', async () => {
    await using pair = await startPair()
    const [one, two] = pair.instances.of('gpu-a')
    const end = one?.begin()
    expect([1, 2, 3].map(() => pair.instances.pick('gpu-a'))).toEqual([two, two, two])
    end?.()
    expect(new Set([1, 2].map(() => pair.instances.pick('gpu-a')))).toEqual(new Set([one, two]))
  })

  it('gives no call to one that is away', async () => {
    await using pair = await startPair()
    const [one, two] = pair.instances.of('gpu-a')
    await pair.runners[0][Symbol.asyncDispose]()
    await one?.refresh()
    expect([1, 2, 3].map(() => pair.instances.pick('gpu-a'))).toEqual([two, two, two])
  })
})

describe('a name that is looked up again', () => {
  it('lets go of an address that is gone, and takes one that is new', async () => {
    await using pair = await startPair()
    pair.addresses = ['127.0.0.2']
    pair.rig.later.pass(30_000)
    await until(() => bootsOf(pair.instances).length === 1, 'one is let go of')
    expect(bootsOf(pair.instances)).toEqual(['b_2'])
    pair.addresses = ['127.0.0.1', '127.0.0.2']
    await pair.instances.resolve()
    await Promise.all(pair.instances.of('gpu-a').map(({ ready }) => ready))
    expect(bootsOf(pair.instances).sort()).toEqual(['b_1', 'b_2'])
  })

  it('lets calls end that are on their way to an address that is gone', async () => {
    await using pair = await startPair()
    const [, { asked }] = pair.runners
    const held = createGate()
    pair.runners[1].hold = held.opened
    const line = pair.instances.of('gpu-a')[1]?.line
    const answer = line?.pool.request({ method: 'GET', path: '/v1/models', headers: [...line.headers] })
    await until(() => asked.at(-1)?.what === 'GET /v1/models', 'the call is there')
    pair.addresses = ['127.0.0.1']
    await pair.instances.resolve()
    held.open()
    expect((await answer)?.statusCode).toBe(404)
    await (await answer)?.body.dump()
  })

  it('keeps what it led to while it cannot be looked up', async () => {
    await using rig = createRig([gate])
    const { port } = await rig.runner()
    let fail = true
    const parts = partsOf(rig, `http://runners.test:${port}`, async () => {
      if (fail) throw new Error('no such name')
      return ['127.0.0.1']
    })
    const instances = createInstances(parts)
    await instances.ready
    expect(instances.of('gpu-a')).toEqual([])
    expect(instances.pick('gpu-a')).toBeUndefined()
    fail = false
    rig.later.pass(1_000)
    await until(() => instances.pick('gpu-a') !== undefined, 'it is found')
    fail = true
    await instances.resolve()
    expect(instances.of('gpu-a')).toHaveLength(1)
    await instances.close()
    expect(rig.later.waits()).toEqual([])
  })
})

describe('the processes of a configuration', () => {
  it('are those of native runners', async () => {
    await using rig = createRig([gate])
    const { url } = await rig.runner()
    const runners = [settingsOf(url), settingsOf(url, { name: 'vllm', kind: 'openai' })]
    const instances = createInstances({ ...rig.parts, runners, ackKeys: new Map() })
    await instances.ready
    expect(instances.of('gpu-a')).toHaveLength(1)
    expect(instances.of('vllm')).toEqual([])
    expect(instances.of('nobody')).toEqual([])
    await instances.close()
  })
})
