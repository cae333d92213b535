import { readdirSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { type Policy, policyDigest } from '../plugins/policy.ts'
import { sealPolicy, sealPolicyQuestion } from '../plugins/policy-carrier.ts'
import { reportFault } from '../plugins/policy-report.ts'
import { createTempDir } from '../test/support/temp-dir.ts'
import {
  ask,
  modesOf,
  policyOf,
  type Rig,
  refusalOf,
  rigKey,
  saying,
  startRig,
  wellKnown,
} from './execution.support.ts'

const counted = policyOf({ count: { limit: 3 } })
const digest = policyDigest(counted)
const asked = JSON.stringify(saying('x'))

const carrier = ({ capabilities }: Rig) => ({ iss: 'g', aud: capabilities.boot, now: Date.now() })
const urlOf = ({ runner }: Rig, name: string): string => `${runner.url}${wellKnown}/policies/${name}`
const question = (rig: Rig, name: string) =>
  ask(urlOf(rig, name), {
    method: 'GET',
    headers: { 'x-execution-context': sealPolicyQuestion(name, carrier(rig), rigKey) },
  })
const call = (rig: Rig, policy: Policy = counted) =>
  ask(`${rig.runner.url}/v1/chat/completions`, {
    headers: { 'content-type': 'application/json', 'x-execution-context': rig.seal(asked, modesOf(policy)) },
    body: asked,
  })

describe('a policy', () => {
  it('is unknown, then registered, then known', async () => {
    await using rig = await startRig()
    expect(refusalOf(await call(rig))).toBe('428 policy-unknown')
    expect(refusalOf(await question(rig, digest))).toBe('428 policy-unknown')
    const report = await rig.put(counted)
    expect(reportFault(report, { digest, policy: counted })).toBeUndefined()
    expect(report.layers['count']).toEqual({ status: 'compiled', ms: expect.any(Number) })
    expect(refusalOf(await call(rig))).toBe('200')
    expect(JSON.parse((await question(rig, digest)).text)).toEqual(report)
  })

  it('is taken only whole and signed, under its own digest', async () => {
    await using rig = await startRig()
    const put = (body: string, name = digest) => ask(urlOf(rig, name), { method: 'PUT', body })
    const right = sealPolicy(counted, carrier(rig), rigKey)
    expect(refusalOf(await put(right, 'f'.repeat(64)))).toBe('400 body')
    expect(refusalOf(await put(`${right.slice(0, -2)}AA`))).toBe('401 signature')
    expect(refusalOf(await put(sealPolicy(counted, { ...carrier(rig), aud: 'b_2' }, rigKey)))).toBe('401 audience')
    expect(refusalOf(await put(sealPolicy(counted, { ...carrier(rig), now: 0 }, rigKey)))).toBe('401 expired')
    expect(refusalOf(await put(''))).toBe('400 invalid')
    expect(refusalOf(await put('x'.repeat(1_048_577)))).toBe('413 too-large')
    expect(refusalOf(await ask(urlOf(rig, digest), { method: 'GET' }))).toBe('401 missing')
    expect(refusalOf(await call(rig))).toBe('428 policy-unknown')
  })

  it('says of each step what became of it, and what cannot be held to is not executed', async () => {
    await using rig = await startRig({ execution: { egress: ['allowed'] } })
    const policy: Policy = {
      v: 1,
      route: 'chat',
      steps: [
        ...policyOf({ who: { url: 'http://elsewhere/' }, shout: {}, home: {}, nobody: {} }).steps,
        { layer: 'count', version: 2, step: {} },
        ...policyOf({ aim: { models: 7 } }).steps,
      ],
    }
    const report = await rig.put(policy)
    expect(reportFault(report, { digest: policyDigest(policy), policy })).toBeUndefined()
    expect(report.layers).toMatchObject({
      who: { status: 'refused', code: 'EGRESS_DENIED', path: 'url' },
      shout: { status: 'compiled' },
      home: { status: 'refused', code: 'UNKNOWN_LAYER' },
      nobody: { status: 'refused', code: 'UNKNOWN_LAYER' },
      count: { status: 'refused', code: 'VERSION_MISMATCH', limit: 1, value: 2 },
      aim: { status: 'refused', path: 'models' },
    })
    const secret = policyOf({ who: { secret: '../key' } })
    expect((await rig.put(secret)).layers['who']).toMatchObject({ status: 'refused', code: 'UNRESOLVED_REF' })
    const { text } = await ask(`${rig.runner.url}/metrics`, { method: 'GET' })
    expect(text).toContain('foldgate_runner_policy_steps_total{result="refused"} 6')
  })

  it('is compiled once, however many register it at a time', async () => {
    await using rig = await startRig()
    const reports = await Promise.all(Array.from({ length: 20 }, () => rig.put(counted)))
    expect(new Set(reports.map((each) => JSON.stringify(each))).size).toBe(1)
  })

  it('that was not used for longest goes when there are too many, and calls under it end well', async () => {
    await using rig = await startRig({ execution: { maxPolicies: 2 }, delayMs: 20 })
    await rig.put(counted)
    const under = call(rig)
    const others = [policyOf({ count: { limit: 4 } }), policyOf({ count: { limit: 5 } })] as const
    for (const other of others) await rig.put(other)
    expect(refusalOf(await under)).toBe('200')
    expect(refusalOf(await call(rig))).toBe('428 policy-unknown')
    expect(refusalOf(await call(rig, others[1]))).toBe('200')
  })
})

describe('policies on disk', () => {
  it('are known again after a restart, and what is not what its name says is removed', async () => {
    await using dir = createTempDir()
    const execution = { policyDir: dir.file('policies') }
    {
      await using rig = await startRig({ execution })
      await rig.put(counted)
      expect(readdirSync(execution.policyDir)).toEqual([`${digest}.json`])
    }
    writeFileSync(`${execution.policyDir}/${'a'.repeat(64)}.json`, JSON.stringify(counted))
    writeFileSync(`${execution.policyDir}/${'b'.repeat(64)}.json`, 'nothing')
    await using rig = await startRig({ execution })
    expect(readdirSync(execution.policyDir)).toEqual([`${digest}.json`])
    expect(refusalOf(await call(rig))).toBe('200')
  })

  it('of more than are kept the oldest are forgotten', async () => {
    await using dir = createTempDir()
    const folder = dir.file('policies')
    {
      await using rig = await startRig({ execution: { policyDir: folder } })
      for (const limit of [1, 2, 3]) await rig.put(policyOf({ count: { limit } }))
    }
    await using rig = await startRig({ execution: { policyDir: folder, maxPolicies: 2 } })
    expect(readdirSync(folder)).toHaveLength(2)
    expect(refusalOf(await call(rig, policyOf({ count: { limit: 3 } })))).toBe('200')
  })
})
