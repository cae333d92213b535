import { describe, expect, it } from 'vitest'
import { essenceDigest, type LayerMember } from '../../../plugins/acknowledgement.ts'
import { probeModel } from '../../../plugins/layer.ts'
import { createGate, until } from '../../../test/support/gate.ts'
import { failOnLeaks } from '../../../test/support/leaks.ts'
import { badgeLayer, wordsLayer } from '../test-layers.ts'
import { createRig } from '../test-rig.ts'
import type { TestRunnerInit } from './test-runner.ts'

failOnLeaks()

const gate = wordsLayer('gate')
const other = wordsLayer('other')

const whyOf = async (lie: TestRunnerInit['lie']) => {
  await using rig = createRig([gate, other])
  const instance = await rig.instance((await rig.runner({ lie })).url)
  expect(instance.whyNot('other', rig.digest)).toBeUndefined()
  return instance.whyNot('gate', rig.digest)
}
const only =
  (change: (member: LayerMember) => LayerMember): TestRunnerInit['lie'] =>
  (member, layer) =>
    layer === 'gate' ? change(member) : member

describe('a layer that does not do what it says', () => {
  it('is found out when it lets pass what it must refuse', async () => {
    expect(await whyOf(only(({ code: _code, ...member }) => ({ ...member, o: 'pass' })))).toEqual({
      reason: 'parity-mismatch',
      words: 'probe "a call with the word is refused": refuse forbidden was expected, pass came',
    })
  })

  it('is found out when it refuses for another reason', async () => {
    expect(
      (await whyOf(only((member) => ({ ...member, ...(member.code ? { code: 'rate_limited' } : {}) }))))?.words,
    ).toMatch(/refuse forbidden was expected, refuse rate_limited came$/)
  })

  it('is found out when its verdict is another one in essence', async () => {
    expect((await whyOf(only((member) => ({ ...member, e: essenceDigest('of something else') }))))?.words).toMatch(
      /^probe "a call without the word passes": its verdict is not that of the gateway's half/,
    )
  })

  it('is found out when it says nothing of its verdict', async () => {
    expect((await whyOf(only(({ e: _e, ...member }) => member)))?.reason).toBe('parity-mismatch')
  })

  it('is found out when it acknowledges another mode', async () => {
    expect(await whyOf(only((member) => ({ ...member, m: 'enforce' })))).toEqual({
      reason: 'not-acknowledged',
      words: 'probe "a call without the word passes": it was not acknowledged: mode',
    })
  })
})

describe('probes', () => {
  it('bring the credential along that the layer verifies', async () => {
    await using rig = createRig([badgeLayer])
    const runner = await rig.runner()
    await rig.instance(runner.url)
    const sent = runner.asked.filter(({ what }) => what === 'POST /decide').map(({ headers }) => headers)
    expect(sent.map((headers) => headers['x-caller-credential'] !== undefined)).toEqual([true, false])
    expect(sent.every(({ authorization }) => authorization === undefined)).toBe(true)
  })

  it('find a layer out whose probe step was not compiled', async () => {
    const probes = [
      { title: 'a secret', step: { words: [], secret: 'hook' }, body: {}, expect: { o: 'pass' as const } },
    ]
    await using rig = createRig([wordsLayer('gate', { probes })])
    const instance = await rig.instance((await rig.runner()).url)
    expect(instance.whyNot('gate', rig.digest)?.words).toBe(
      'probe "a secret": its step was refused with UNRESOLVED_REF',
    )
  })

  it('that need a model find none where the runner serves none', async () => {
    const probes = [
      { title: 'a model', step: { words: [probeModel] }, body: { say: 'hi' }, expect: { o: 'pass' as const } },
    ]
    await using rig = createRig([wordsLayer('gate', { probes })])
    const without = await rig.instance((await rig.runner()).url)
    expect(without.whyNot('gate', rig.digest)?.reason).toBe('model-unavailable')
    const runner = await rig.runner({ capabilities: { models: [{ id: 'small', contextTokens: 1 }] } })
    const instance = await rig.instance(runner.url)
    expect(instance.whyNot('gate', rig.digest)).toBeUndefined()
  })

  it('are asked in shadow, with facts and reads as calls have them', async () => {
    await using rig = createRig([gate])
    const runner = await rig.runner()
    await rig.instance(runner.url)
    const [header] = runner.asked.flatMap(({ headers }) => headers['x-execution-context'] ?? [])
    const payload = JSON.parse(Buffer.from(String(header).split('.')[1] ?? '', 'base64url').toString())
    expect(payload).toMatchObject({
      shadow: true,
      modes: { gate: 'observe' },
      now: 1_900_000_000_000,
      facts: { tenant: 'probe', id: 'probe', tier: '', client_ip: '192.0.2.1' },
    })
  })

  it('that a runner has let go of are registered once more', async () => {
    await using rig = createRig([gate])
    const runner = await rig.runner()
    const instance = await rig.instance(runner.url)
    for (const digest of runner.given()) runner.drop(digest)
    await instance.refresh()
    expect(instance.whyNot('gate', rig.digest)).toBeUndefined()
  })
})

describe('standing probes', () => {
  const standing = { everyMs: 30_000, layers: () => ['gate'] }
  const decides = (asked: readonly { readonly what: string }[]): number =>
    asked.filter(({ what }) => what === 'POST /decide').length

  it('go on one at a time, for the layers that are folded', async () => {
    await using rig = createRig([gate, other])
    const runner = await rig.runner()
    await rig.instance(runner.url, { standing })
    const before = decides(runner.asked)
    const held = createGate()
    runner.hold = held.opened
    rig.later.pass(30_000)
    await until(() => decides(runner.asked) === before + 1, 'one is asked')
    expect(rig.later.waits()).toEqual([])
    held.open()
    await until(() => rig.later.waits().includes(30_000), 'the next is due')
    expect(decides(runner.asked)).toBe(before + 1)
  })

  it('find a layer out that begins to lie (scenario 26)', async () => {
    const failed: string[] = []
    await using rig = createRig([gate, other])
    const runner = await rig.runner()
    const watch = { probeFailed: (...said: string[]) => void failed.push(said.join('|')) }
    const instance = await rig.instance(runner.url, { standing, watch })
    runner.lie = ({ code: _code, ...member }) => ({ ...member, o: 'pass' })
    for (const turn of [1, 2]) {
      rig.later.pass(30_000)
      await until(() => rig.later.waits().includes(30_000), `turn ${turn} ends`)
    }
    const words = 'probe "a call with the word is refused": refuse forbidden was expected, pass came'
    expect(failed).toEqual([`gpu-a|gate|${words}`])
    expect(instance.whyNot('gate', rig.digest)).toEqual({ reason: 'parity-mismatch', words })
    const before = decides(runner.asked)
    rig.later.pass(30_000)
    await until(() => rig.later.waits().includes(30_000), 'the turn ends')
    expect(decides(runner.asked)).toBe(before)
  })

  it('greet a runner anew that has gone and come back', async () => {
    await using rig = createRig([gate])
    const first = await rig.runner()
    const instance = await rig.instance(first.url, { standing })
    await first[Symbol.asyncDispose]()
    const second = await rig.runner({ port: first.port })
    rig.later.pass(30_000)
    await until(() => instance.capabilities?.boot === second.capabilities.boot, 'the handshake is made')
    await instance.refresh()
    expect(instance.whyNot('gate', rig.digest)).toBeUndefined()
  })
})
