import { describe, expect, it } from 'vitest'
import { verifyAcknowledgement } from '../plugins/acknowledgement-verify.ts'
import { ed25519Pem, pairKey, secretKey } from '../plugins/execution-context.support.ts'
import { credentialDigest } from '../plugins/execution-context.ts'
import { createSigningKey } from '../plugins/jws-key.ts'
import { policyDigest } from '../plugins/policy.ts'
import { sealPolicy } from '../plugins/policy-carrier.ts'
import { startEcho } from './echo-fixture.ts'
import {
  ask,
  type ContextOver,
  contextOf,
  headOf,
  modesOf,
  policyOf,
  type Rig,
  refusalOf,
  rigKey,
  type Said,
  saying,
  sealed,
  startRig,
  wellKnown,
} from './execution.support.ts'
import { testLayers } from './execution-layers.support.ts'

const policy = policyOf({ count: {}, who: {}, later: {} })
const asked = JSON.stringify(saying('x'))
const modes = { count: 'enforce' } as const
const pol = policyDigest(policy)

const send = (rig: Rig, header: string | undefined, more: Readonly<Record<string, string>> = {}, body = asked) =>
  ask(`${rig.runner.url}/v1/chat/completions`, {
    headers: { 'content-type': 'application/json', ...(header ? { 'x-execution-context': header } : {}), ...more },
    body,
  })

/** A rig that knows the policy, and how it refuses a context with something wrong in it. */
async function ready(): Promise<Rig & { refusal(over: ContextOver): Promise<string> }> {
  const rig = await startRig()
  await rig.put(policy)
  return { ...rig, refusal: async (over) => refusalOf(await send(rig, rig.seal(asked, { pol, modes, ...over }))) }
}

const past = { iat: 1_700_000_000, exp: 1_700_000_010 }
const other = { aud: 'b_other' }
const stranger = { by: secretKey('k1', 9) }
const unknown = { pol: 'f'.repeat(64) }
const swapped = { bod: 'A'.repeat(43) }
const credential = { crd: credentialDigest('x=:eA==:') }

describe('a context is refused, before anything is computed, (scenario 17)', () => {
  it.each<[string, ContextOver, string]>([
    ['forged', stranger, '401 signature'],
    ['under an unknown key', { by: secretKey('k9', 1) }, '401 signature'],
    ['under a key of another kind', { by: pairKey('k1', 3) }, '401 signature'],
    ['for another instance', other, '401 audience'],
    ['expired', past, '401 expired'],
    ['with another body', swapped, '400 body'],
    ['with a credential that did not come', credential, '401 credential'],
    ['under an unknown policy', unknown, '428 policy-unknown'],
    ['naming a layer that is not of the policy', { modes: { aim: 'enforce' } }, '422 unsupported'],
    ['naming a layer that is not executed here', { modes: { later: 'enforce' } }, '422 unsupported'],
  ])('%s', async (_what, over, code) => {
    await using rig = await ready()
    expect(await rig.refusal(over)).toBe(code)
    expect(await rig.refusal({})).toBe('200')
  })

  it('too large, not a token, or not there', async () => {
    await using rig = await ready()
    expect(refusalOf(await send(rig, `${rig.seal(asked, { pol, modes })}${'A'.repeat(4_096)}`))).toBe('413 too-large')
    expect(refusalOf(await send(rig, '{"routing":{}}'))).toBe('400 invalid')
    expect(refusalOf(await send(rig, undefined))).toBe('401 missing')
  })

  it('used before, and the copy of a call is another use', async () => {
    await using rig = await ready()
    const over = { pol, modes, id: 'a'.repeat(32) }
    const header = rig.seal(asked, over)
    expect(refusalOf(await send(rig, header))).toBe('200')
    expect(refusalOf(await send(rig, header))).toBe('409 replay')
    expect(await rig.refusal({ id: over.id })).toBe('409 replay')
    expect(await rig.refusal({ id: over.id, shadow: true })).toBe('200')
    expect(await rig.refusal({ id: over.id, attempt: 2 })).toBe('200')
  })

  it('for the first fault in the order of the checks', async () => {
    await using rig = await ready()
    const faults = [stranger, other, past, swapped, credential, unknown]
    const codes = []
    for (const [at] of faults.entries())
      codes.push(await rig.refusal(Object.assign({}, ...faults.slice(at).toReversed())))
    expect(codes).toEqual([
      '401 signature',
      '401 audience',
      '401 expired',
      '400 body',
      '401 credential',
      '428 policy-unknown',
    ])
  })

  it('with the body or the credential exchanged on the way', async () => {
    await using rig = await ready()
    const bytes = 'authorization=:QmVhcmVyIGdvb2QtYW5u:'
    const seal = () => rig.seal(asked, { pol, modes, crd: credentialDigest(bytes) })
    expect(refusalOf(await send(rig, seal(), { 'x-caller-credential': bytes }))).toBe('200')
    expect(refusalOf(await send(rig, seal(), { 'x-caller-credential': bytes.replace('QmV', 'QmW') }))).toBe(
      '401 credential',
    )
    expect(refusalOf(await send(rig, seal()))).toBe('401 credential')
    const unsigned = rig.seal(asked, { pol, modes })
    expect(refusalOf(await send(rig, unsigned, { 'x-caller-credential': bytes }))).toBe('401 credential')
    expect(refusalOf(await send(rig, seal(), { 'x-caller-credential': bytes }, `${asked} `))).toBe('400 body')
  })

  it('when no more can be remembered', async () => {
    await using rig = await startRig({ execution: { replayCapacity: 1 } })
    await rig.put(policy)
    const codes = [rig.seal(asked, { pol, modes }), rig.seal(asked, { pol, modes })].map(
      (each) => () => send(rig, each),
    )
    expect(refusalOf(await codes[0]!())).toBe('200')
    expect(refusalOf(await codes[1]!())).toBe('503 no-capacity')
  })

  it('and counted by its code', async () => {
    await using rig = await startRig({ server: { apiKey: 'k'.repeat(32) } })
    await send(rig, 'x.y.z')
    const authorization = `Bearer ${'k'.repeat(32)}`
    const { text } = await ask(`${rig.runner.url}/metrics`, { method: 'GET', headers: { authorization } })
    expect(text).toContain('foldgate_runner_context_refusals_total{code="invalid"} 1')
  })
})

describe('who may ask', () => {
  const key = 'k'.repeat(32)
  const plain = (url: string, more: Readonly<Record<string, string>> = {}): Promise<Said> =>
    ask(`${url}/v1/chat/completions`, { headers: { 'content-type': 'application/json', ...more }, body: asked })

  it('a call without context needs the API key, one with a context does not', async () => {
    await using rig = await startRig({ server: { apiKey: key } })
    await rig.put(policy)
    expect(refusalOf(await plain(rig.runner.url))).toBe('401 missing')
    expect(refusalOf(await plain(rig.runner.url, { authorization: 'Bearer wrong' }))).toBe('401 missing')
    expect(refusalOf(await plain(rig.runner.url, { authorization: `Bearer ${key}` }))).toBe('200')
    expect(refusalOf(await send(rig, rig.seal(asked, { pol, modes })))).toBe('200')
    expect((await ask(`${rig.runner.url}/metrics`, { method: 'GET' })).status).toBe(401)
  })

  it('without an API key nobody makes a plain call, unless they are allowed, and then on loopback only', async () => {
    const execution = { keys: [rigKey], layers: testLayers }
    {
      await using runner = await startEcho({ execution })
      for (const path of ['/v1/chat/completions', '/v1/completions', '/v1/embeddings'])
        expect(refusalOf(await ask(runner.url + path, { body: '{}' }))).toBe('401 missing')
    }
    await using open = await startEcho({ execution: { ...execution, allowPlain: true } })
    expect(refusalOf(await plain(open.url))).toBe('200')
    const everywhere = startEcho({ server: { host: '0.0.0.0' }, execution: { ...execution, allowPlain: true } })
    await expect(everywhere).rejects.toThrow(/loopback/)
  })

  it('a runner without signing keys takes no context', async () => {
    await using runner = await startEcho()
    const header = sealed(contextOf('b_1', asked, { modes }))
    expect(refusalOf(await plain(runner.url, { 'x-execution-context': header }))).toBe('401 signature')
    expect(refusalOf(await plain(runner.url))).toBe('200')
    expect(JSON.parse((await ask(runner.url + wellKnown, { method: 'GET' })).text).keys).toEqual([])
  })
})

describe('EdDSA', () => {
  const pair = pairKey('p1', 3)
  const ackKey = ed25519Pem(5)

  it('contexts are acknowledged under the runner’s own key', async () => {
    await using rig = await startRig({ execution: { keys: [rigKey, pair], ackKey } })
    const counted = policyOf({ count: {} })
    const said = await rig.chat(counted, saying('x'), { by: pair })
    expect(said.status).toBe(200)
    expect(said.acknowledged).toMatchObject({ ok: false, mismatch: 'mac' })
    const own = createSigningKey({ kid: 'ack', alg: 'EdDSA', privateKey: ackKey })
    const held = { context: said.context, key: own, versions: new Map([['count', 1]]) }
    expect(verifyAcknowledgement(headOf(said), held).ok).toBe(true)
    expect((await rig.chat(counted, saying('x'))).acknowledged.ok).toBe(true)
  })

  it('a public key without an ack key does not start', async () => {
    await expect(startEcho({ execution: { keys: [pair] } })).rejects.toThrow(/key "p1" is public/)
  })

  it('policies come under it', async () => {
    await using runner = await startEcho({ execution: { keys: [pair], ackKey, layers: testLayers } })
    const { boot } = JSON.parse((await ask(runner.url + wellKnown, { method: 'GET' })).text)
    const body = sealPolicy(policy, { iss: 'g', aud: boot, now: Date.now() }, pair)
    const headers = { 'content-type': 'application/jose' }
    expect((await ask(`${runner.url}${wellKnown}/policies/${pol}`, { method: 'PUT', headers, body })).status).toBe(200)
  })
})

it('every layer of a policy may be named, in whatever mode', async () => {
  await using rig = await startRig()
  const two = policyOf({ count: {}, shout: {} })
  await rig.put(two)
  expect(refusalOf(await send(rig, rig.seal(asked, modesOf(two))))).toBe('200')
})
