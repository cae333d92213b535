import { describe, expect, it } from 'vitest'
import { createGate, until } from '../../../test/support/gate.ts'
import { failOnLeaks } from '../../../test/support/leaks.ts'
import { Fallback } from '../fallback.ts'
import { badgeLayer, wordsLayer } from '../test-layers.ts'
import { createRig, testKey } from '../test-rig.ts'

failOnLeaks()

const gate = wordsLayer('gate')
const meter = wordsLayer('meter', { stateful: true })
const words = { words: ['no'] }

describe('a runner that is there', () => {
  it('is believed once its probes have held and the policy is registered', async () => {
    await using rig = createRig([gate, badgeLayer])
    const runner = await rig.runner()
    const instance = await rig.instance(runner.url)
    expect(instance.capabilities?.boot).toBe('b_1')
    expect(instance.reachable).toBe(true)
    expect(['gate', 'badge'].map((name) => instance.whyNot(name, rig.digest))).toEqual([undefined, undefined])
    expect(instance.report(rig.digest)?.layers['gate']?.status).toBe('compiled')
    expect(runner.given(rig.digest)).toHaveLength(1)
    expect(rig.host.lines).toEqual([])
  })

  it('sees the API key with what bears no signature only', async () => {
    await using rig = createRig([gate])
    const runner = await rig.runner()
    await rig.instance(runner.url, {}, { apiKey: 'sk-1', headers: { 'x-team': 'a' } })
    const seen = runner.asked.map(({ what, headers }) => [what.split('/')[0], headers.authorization, headers['x-team']])
    expect(seen[0]).toEqual(['GET ', 'Bearer sk-1', 'a'])
    expect(new Set(seen.slice(1).map(([, key]) => key))).toEqual(new Set([undefined]))
  })

  it('is given a policy once, however many calls ask for it at once', async () => {
    await using rig = createRig([gate])
    const runner = await rig.runner()
    const other = createRig([gate], { words: ['never'] })
    const policies = { ...rig.policies, get: other.policies.get }
    const instance = await rig.instance(runner.url, { policies })
    const reports = await Promise.all(Array.from({ length: 50 }, () => instance.register(other.digest)))
    expect(new Set(reports).size).toBe(1)
    await instance.register(other.digest)
    expect(runner.given(other.digest)).toHaveLength(1)
  })

  it('is given a policy that it let go of once more, however many calls were refused for it', async () => {
    await using rig = createRig([gate])
    const runner = await rig.runner()
    const instance = await rig.instance(runner.url)
    runner.drop(rig.digest)
    await Promise.all(Array.from({ length: 20 }, () => instance.renew(rig.digest)))
    await instance.renew(rig.digest)
    expect(runner.given(rig.digest)).toHaveLength(2)
    rig.clock.advance(1_000)
    await instance.renew(rig.digest)
    expect(runner.given(rig.digest)).toHaveLength(3)
  })

  it('counts the calls that are on their way to it', async () => {
    await using rig = createRig([gate])
    const instance = await rig.instance((await rig.runner()).url)
    const [one, two] = [instance.begin(), instance.begin()]
    one()
    one()
    expect(instance.underWay).toBe(1)
    two()
    expect(instance.underWay).toBe(0)
  })
})

describe('a runner that has restarted', () => {
  it('is noticed by what one answer shows, and given everything again', async () => {
    await using rig = createRig([gate, meter])
    const first = await rig.runner()
    const instance = await rig.instance(first.url)
    await first[Symbol.asyncDispose]()
    const second = await rig.runner({ port: first.port, layers: [gate] })
    instance.noticed({ boot: 'b_2', caps: second.capabilities.caps })
    await instance.refresh()
    expect(instance.capabilities?.boot).toBe('b_2')
    expect(second.given(rig.digest)).toHaveLength(1)
    expect(instance.whyNot('gate', rig.digest)).toBeUndefined()
    expect(instance.whyNot('meter', rig.digest)).toEqual({
      reason: 'unsupported-layer',
      words: 'the runner does not execute meter',
    })
  })

  it('is found out when it refuses the audience of a context', async () => {
    await using rig = createRig([gate])
    const first = await rig.runner()
    const instance = await rig.instance(first.url)
    await first[Symbol.asyncDispose]()
    const second = await rig.runner({ port: first.port })
    await Promise.all(Array.from({ length: 20 }, () => instance.renew(rig.digest)))
    expect(instance.capabilities?.boot).toBe('b_2')
    expect(second.given(rig.digest)).toHaveLength(1)
    expect(instance.whyNot('gate', rig.digest)).toBeUndefined()
  })

  it('is noticed also while a handshake is under way', async () => {
    await using rig = createRig([gate])
    const runner = await rig.runner()
    const instance = await rig.instance(runner.url)
    const held = createGate()
    runner.hold = held.opened
    const going = instance.refresh()
    await until(() => runner.asked.at(-1)?.what === 'GET ', 'the handshake begins')
    instance.noticed({ boot: 'b_9' })
    const before = runner.asked.length
    held.open()
    await going
    await until(() => runner.asked.slice(before).some(({ what }) => what === 'GET '), 'another handshake begins')
    await instance.refresh()
  })

  it('is not asked again for what a call of before still shows', async () => {
    await using rig = createRig([gate])
    const first = await rig.runner()
    const instance = await rig.instance(first.url)
    await first[Symbol.asyncDispose]()
    const second = await rig.runner({ port: first.port })
    await instance.refresh()
    const asked = second.asked.length
    instance.noticed({ boot: 'b_1', caps: first.capabilities.caps })
    instance.noticed({ boot: 'b_2', caps: second.capabilities.caps })
    instance.noticed({})
    await instance.register(rig.digest)
    expect(second.asked).toHaveLength(asked)
  })

  it('is not asked for ever for what nobody but a liar shows', async () => {
    await using rig = createRig([gate])
    const runner = await rig.runner()
    const instance = await rig.instance(runner.url)
    const handshakes = (): number => runner.asked.filter(({ what }) => what === 'GET ').length
    for (const _ of [1, 2, 3]) {
      instance.noticed({ boot: 'b_9' })
      await instance.refresh()
    }
    const after = handshakes()
    instance.noticed({ boot: 'b_9' })
    expect(handshakes()).toBe(after)
    rig.clock.advance(5_000)
    instance.noticed({ boot: 'b_9' })
    await until(() => handshakes() > after, 'it is asked again')
    await instance.refresh()
  })

  it('is several when a process of before comes back', async () => {
    await using rig = createRig([gate])
    let runner = await rig.runner({ boot: 'b_a' })
    const { url, port } = runner
    const instance = await rig.instance(url)
    for (const boot of ['b_b', 'b_a']) {
      await runner[Symbol.asyncDispose]()
      runner = await rig.runner({ port, boot })
      await instance.refresh()
    }
    expect(instance.whyNot('gate', rig.digest)).toMatchObject({ reason: 'audience', words: /several processes/ })
    rig.clock.advance(60_000)
    await instance.refresh()
    expect(instance.whyNot('gate', rig.digest)).toBeUndefined()
  })
})

describe('a runner that is away', () => {
  it('is tried again, ever more seldom, until it is there', async () => {
    await using rig = createRig([gate])
    const gone = await rig.runner()
    await gone[Symbol.asyncDispose]()
    const instance = await rig.instance(gone.url)
    expect(instance.capabilities).toBeUndefined()
    expect(instance.reachable).toBe(false)
    expect(instance.whyNot('gate', rig.digest)).toEqual({
      reason: 'runner-error',
      words: 'the runner cannot be reached',
    })
    await expect(instance.register(rig.digest)).rejects.toThrow(Fallback)
    for (const wait of [250, 500]) {
      expect(rig.later.waits()).toEqual([wait])
      rig.later.pass(wait)
      await until(() => rig.later.waits().length > 0, 'the next try is due')
    }
    expect(rig.host.lines.map(({ message }) => message)).toEqual(['the handshake with the runner failed'])
    const back = await rig.runner({ port: gone.port })
    rig.later.pass(1_000)
    await until(() => instance.reachable && instance.whyNot('gate', rig.digest) === undefined, 'it is known')
    expect(back.given(rig.digest)).toHaveLength(1)
    await instance.refresh()
    expect(rig.later.waits()).toEqual([])
  })

  it('is not tried again by what was closed', async () => {
    await using rig = createRig([gate])
    const gone = await rig.runner()
    await gone[Symbol.asyncDispose]()
    const instance = await rig.instance(gone.url)
    instance.close()
    expect(rig.later.waits()).toEqual([])
    await instance.refresh()
    expect(rig.later.waits()).toEqual([])
  })
})

describe('why a layer cannot act at a runner', () => {
  it('it has another version there', async () => {
    await using rig = createRig([gate])
    const runner = await rig.runner({ layers: [wordsLayer('gate', { version: 2 })] })
    const instance = await rig.instance(runner.url)
    expect(instance.whyNot('gate', rig.digest)).toEqual({
      reason: 'unsupported-version',
      words: 'the runner executes version 2 of gate, this gateway folds version 1',
    })
  })

  it('the key is not known there', async () => {
    await using rig = createRig([gate])
    const runner = await rig.runner({ key: testKey('k0', 1) })
    const instance = await rig.instance(runner.url)
    expect(instance.whyNot('gate', rig.digest)).toEqual({
      reason: 'signature',
      words: 'the runner does not know the signing key k1; it knows k0',
    })
    expect(runner.asked.map(({ what }) => what)).toEqual(['GET '])
    expect(rig.host.lines.map(({ fields }) => fields['reason'])).toEqual(['signature'])
  })

  it('the key of that name is another one there', async () => {
    await using rig = createRig([gate])
    const runner = await rig.runner({ key: testKey('k1', 2) })
    const instance = await rig.instance(runner.url)
    const why = instance.whyNot('gate', rig.digest)
    expect(why?.reason).toBe('signature')
    expect(why?.words).toMatch(/under the name k1 it holds another key than this gateway$/)
  })

  it('the clocks are far apart', async () => {
    await using rig = createRig([gate])
    const runner = await rig.runner({ now: () => rig.clock.now() + 120_000 })
    const instance = await rig.instance(runner.url)
    expect(instance.whyNot('gate', rig.digest)).toMatchObject({ reason: 'expired', words: /the two clocks are far/ })
  })

  it('its clock went wrong after it was known, and is right again', async () => {
    await using rig = createRig([gate])
    let ahead = 0
    const runner = await rig.runner({ now: () => rig.clock.now() + ahead })
    const instance = await rig.instance(runner.url)
    expect(instance.whyNot('gate', rig.digest)).toBeUndefined()
    ahead = 120_000
    runner.drop(rig.digest)
    const handshakes = () => runner.asked.filter(({ what }) => what === 'GET ').length
    for (let call = 0; call < 5; call++) instance.doubted()
    await until(() => instance.whyNot('gate', rig.digest)?.reason === 'expired', 'it is known to be refused')
    expect(handshakes()).toBe(2)
    ahead = 0
    await until(() => rig.later.waits().length > 0, 'it is tried again')
    rig.later.pass(250)
    await until(() => instance.whyNot('gate', rig.digest) === undefined, 'it is believed again')
    expect(handshakes()).toBe(3)
    expect(rig.host.lines.map(({ message }) => message)).toContain('no layer can act at the runner')
  })

  it('it speaks another version of the protocol', async () => {
    await using rig = createRig([gate])
    const runner = await rig.runner({ capabilities: { versions: [2] } })
    const instance = await rig.instance(runner.url)
    expect(instance.whyNot('gate', rig.digest)?.reason).toBe('unsupported-version')
  })

  it('its capabilities are not what their digest says', async () => {
    await using rig = createRig([gate])
    const runner = await rig.runner()
    Object.assign(runner.capabilities, { runner: 'other/1' })
    const instance = await rig.instance(runner.url)
    expect(instance.whyNot('gate', rig.digest)?.words).toMatch(/^the runner's capabilities are wrong: caps/)
  })

  it('its step was refused', async () => {
    await using rig = createRig([gate], { ...words, secretFile: 'secrets/hook' })
    const instance = await rig.instance((await rig.runner()).url)
    expect(instance.whyNot('gate', rig.digest)).toEqual({
      reason: 'unsupported-layer',
      words: 'the runner cannot execute the step of gate: UNRESOLVED_REF at secret; try put it there',
    })
  })

  it('the policy is not registered', async () => {
    await using rig = createRig([gate])
    const instance = await rig.instance((await rig.runner()).url)
    expect(instance.whyNot('gate', '0'.repeat(64))?.reason).toBe('policy-unknown')
  })

  it('its state is in each of several processes', async () => {
    await using rig = createRig([gate, meter])
    const local = await rig.instance((await rig.runner()).url, { alone: () => false })
    expect(local.whyNot('gate', rig.digest)).toBeUndefined()
    expect(local.whyNot('meter', rig.digest)?.words).toMatch(/needs a store that they share/)
    const shared = await rig.runner({ capabilities: { state: 'shared' } })
    const instance = await rig.instance(shared.url, { alone: () => false })
    expect(instance.whyNot('meter', rig.digest)).toBeUndefined()
  })

  it('a credential would travel in the open', async () => {
    await using rig = createRig([gate, badgeLayer])
    const { port } = await rig.runner()
    // The name is this machine's, but nothing says so.
    const instance = await rig.instance(`http://0.0.0.0:${port}`)
    expect(instance.whyNot('gate', rig.digest)).toBeUndefined()
    expect(instance.whyNot('badge', rig.digest)?.words).toMatch(/over loopback or TLS only/)
  })
})
