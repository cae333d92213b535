import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { startRunner } from '../../native-runner/runner.ts'
import { layers as allLayers } from '../../plugins/index.ts'
import { createSigningKey, createVerifyingKey } from '../../plugins/jws-key.ts'
import type { Layer } from '../../plugins/layer.ts'
import { until } from '../../test/support/gate.ts'
import { failOnLeaks } from '../../test/support/leaks.ts'
import { badgeLayer, wordsLayer } from './test-layers.ts'
import { createRig, type Rig } from './test-rig.ts'

failOnLeaks()

const layers = [badgeLayer, wordsLayer('gate')]

const pem = ({ privateKey, publicKey } = generateKeyPairSync('ed25519')) => ({
  privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  publicKey: publicKey.export({ type: 'spki', format: 'pem' }),
})

const start = ({ key, clock }: Rig, over: object = {}) =>
  startRunner({
    engine: 'echo',
    server: { apiKey: 'sk-runner' },
    execution: { keys: [key], layers, clock, log: { info() {}, warn() {}, error() {} }, ...over },
  })

describe('our own runner', () => {
  it('is believed', async () => {
    await using rig = createRig(layers)
    await using runner = await start(rig)
    const instance = await rig.instance(runner.url, {}, { apiKey: 'sk-runner' })
    expect(layers.map(({ name }) => instance.whyNot(name, rig.digest))).toEqual([undefined, undefined])
    expect(instance.report(rig.digest)?.layers['gate']?.status).toBe('compiled')
    expect(instance.capabilities?.engine.name).toBe('echo')
  })

  it('is believed under a pair of keys', async () => {
    const [ours, theirs] = [pem(), pem()]
    const key = createSigningKey({ kid: 'k1', alg: 'EdDSA', privateKey: ours.privateKey })
    const keys = [createVerifyingKey({ kid: 'k1', alg: 'EdDSA', publicKey: ours.publicKey })]
    const ackKey = createVerifyingKey({ kid: 'ack', alg: 'EdDSA', publicKey: theirs.publicKey })
    await using rig = createRig(layers)
    await using runner = await start(rig, { keys, ackKey: theirs.privateKey })
    const settings = { apiKey: 'sk-runner' }
    const instance = await rig.instance(runner.url, { key, ackKey }, settings)
    expect(layers.map(({ name }) => instance.whyNot(name, rig.digest))).toEqual([undefined, undefined])
    const without = await rig.instance(runner.url, { key }, settings)
    expect(without.whyNot('gate', rig.digest)?.words).toMatch(/no ackKeyFile/)
  })

  it('that restarts is given everything again', async () => {
    await using rig = createRig(layers)
    const first = await start(rig)
    const port = Number(new URL(first.url).port)
    const instance = await rig.instance(first.url, {}, { apiKey: 'sk-runner' })
    const boot = instance.capabilities?.boot
    await first.close(0)
    const server = { apiKey: 'sk-runner', port }
    const execution = { keys: [rig.key], layers: [badgeLayer], clock: rig.clock, log: rig.host.log }
    await using _second = await startRunner({ engine: 'echo', server, execution })
    instance.noticed({ boot: 'b_other' })
    await until(() => instance.capabilities?.boot !== boot, 'it is another process')
    await instance.refresh()
    expect(instance.whyNot('badge', rig.digest)).toBeUndefined()
    expect(instance.whyNot('gate', rig.digest)?.words).toBe('the runner does not execute gate')
  })

  it('holds the probes of every layer of the product, as often as they are asked', async () => {
    const native = (allLayers as readonly Layer[]).flatMap((layer) => (layer.native ? [layer.name] : []))
    expect(native.length).toBeGreaterThan(0)
    await using rig = createRig(layers)
    await using runner = await start(rig, { layers: allLayers })
    const instance = await rig.instance(runner.url, { layers: allLayers }, { apiKey: 'sk-runner' })
    for (let time = 0; time < 4; time++) {
      const why = native.map((name) => instance.whyNot(name, rig.digest)?.words)
      expect(why).toEqual(native.map((name) => `${name} is not in the policy`))
      rig.clock.advance(1_000)
      await instance.refresh()
    }
  })
})
