import { expect, it } from 'vitest'
import { ask, headOf, modesOf, policyOf, refusalOf, saying, startRig, wellKnown } from './execution.support.ts'

const path = `${wellKnown}/decide`
const policy = policyOf({ who: {}, count: { limit: 1 }, shout: {} })
const modes = { who: 'observe', count: 'observe', shout: 'observe' } as const
const credentials = { authorization: 'Bearer bad' }

it('every named layer says what it would decide, and the engine is not asked', async () => {
  let tokens = 0
  await using rig = await startRig({ onToken: () => void tokens++ })
  const said = await rig.chat(policy, saying('x'), { path, modes, credentials })
  expect([said.status, said.text, tokens]).toEqual([200, '{}', 0])
  expect(said.acknowledged).toMatchObject({
    ok: true,
    acknowledgement: {
      layers: {
        who: { m: 'observe', o: 'refuse', code: 'unauthenticated', e: expect.any(String) },
        count: { m: 'observe', o: 'pass', e: expect.any(String) },
        shout: { m: 'observe', o: 'pass' },
      },
    },
  })
})

it('an observer keeps its side’s state: the runner’s, or the copy’s where it is one', async () => {
  await using rig = await startRig()
  const counted = policyOf({ count: { limit: 1 } })
  const observing = { path, modes: { count: 'observe' } } as const
  const code = async (over: object) => {
    const { acknowledged } = await rig.chat(counted, saying('x'), { ...observing, ...over })
    return acknowledged.ok && acknowledged.acknowledgement.layers['count']?.o
  }
  expect([await code({ shadow: true }), await code({ shadow: true }), await code({})]).toEqual([
    'pass',
    'refuse',
    'pass',
  ])
  expect((await rig.chat(counted, saying('x'))).status).toBe(429)
})

it('a layer named to decide is asked all the same, and does not keep the others from being asked', async () => {
  await using rig = await startRig()
  const said = await rig.chat(policy, saying('x'), { path, credentials })
  expect(said.acknowledged).toMatchObject({
    ok: true,
    acknowledgement: { layers: { who: { m: 'enforce', o: 'refuse' }, count: { m: 'enforce', o: 'pass' } } },
  })
})

it('a context is refused as it is for a call', async () => {
  await using rig = await startRig()
  const body = JSON.stringify(saying('x'))
  const seal = () => ({ 'x-execution-context': rig.seal(body, modesOf(policy)) })
  expect(refusalOf(await ask(rig.runner.url + path, { body }))).toBe('401 missing')
  expect(refusalOf(await ask(rig.runner.url + path, { body, headers: seal() }))).toBe('428 policy-unknown')
  const unknown = await ask(rig.runner.url + path, { body: `${body} `, headers: seal() })
  expect([refusalOf(unknown), headOf(unknown)]).toEqual(['400 body', 'undefined'])
})
