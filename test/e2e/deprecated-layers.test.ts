import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createApiKey } from '../../plugins/auth/api-key.ts'
import type { Clock } from '../../plugins/host.ts'
import { chat } from '../support/chat-replies.ts'
import { createManualClock } from '../support/clock.ts'
import { startTestGateway } from '../support/gateway.ts'
import { failOnLeaks } from '../support/leaks.ts'
import { startUpstream } from '../support/upstream.ts'
import { allNative, type FoldingRigOptions, startFoldingRig } from './folding-rig.ts'

failOnLeaks()

const hashOf = (key: string): string => createHash('sha256').update(key).digest('hex')
const [mayHave, mayNot] = [createApiKey().key, createApiKey().key]
const auth = {
  apiKeys: [
    { id: 'old-client', hash: hashOf(mayHave), tenant: 't1', tier: 'free', scopes: ['old', 'debug'] },
    { id: 'new-client', hash: hashOf(mayNot), tenant: 't1', tier: 'free' },
  ],
}
const access = { deprecatedScope: 'old', debugScope: 'debug' }
const everything =
  'auth-status, rate-limit-remaining, cache-hit, cache-key, model-router-decision, template-engine-version, postprocess-status, no-such-header'
const bearer = (key: string) => ({ authorization: `Bearer ${key}`, 'user-agent': 'legacy-dashboard/1.0' })
const old = { ...bearer(mayHave), 'x-deprecated-layers': everything }

const names = everything.split(', ').map((name) => `x-${name}`)
const oldHeaders = ({ headers }: Response): Record<string, string> =>
  Object.fromEntries(names.flatMap((name) => (headers.has(name) ? [[name, headers.get(name) as string]] : [])))

const rigOf = (options: FoldingRigOptions = {}) =>
  startFoldingRig({ ...options, layers: { auth, ...options.layers }, config: { access, ...options.config } })

const told = {
  'x-auth-status': 'authenticated',
  'x-rate-limit-remaining': expect.stringMatching(/^(2\d{4}|30000)$/),
  'x-cache-hit': 'false',
  'x-cache-key': expect.stringMatching(/^[0-9a-f]{32}$/),
  'x-postprocess-status': 'ok',
}

describe('old headers of layers in the gateway', () => {
  it('come with the answer as they are asked for, for a caller with the right', async () => {
    await using rig = await rigOf()
    const response = await rig.chat({}, old)
    expect(oldHeaders(response)).toEqual({
      ...told,
      'x-model-router-decision': 'a/echo',
      'x-template-engine-version': '1',
    })
    expect(['deprecation', 'sunset', 'x-deprecated-layers'].map((name) => response.headers.get(name))).toEqual([
      null,
      null,
      null,
    ])
  })

  it('tell of a hit with the key it was found by, and of nothing further in', async () => {
    await using rig = await rigOf()
    const first = oldHeaders(await rig.chat({}, old))
    const again = oldHeaders(await rig.chat({}, old))
    expect(again).toEqual({
      ...told,
      'x-cache-hit': 'true',
      'x-cache-key': first['x-cache-key'],
      'x-postprocess-status': undefined as never,
    })
  })

  it('of which one is asked for, only that one comes', async () => {
    await using rig = await rigOf()
    const response = await rig.chat({}, { ...old, 'x-deprecated-layers': 'Cache-Hit' })
    expect(oldHeaders(response)).toEqual({ 'x-cache-hit': 'false' })
  })

  it('a stream tells that its postprocess still acts', async () => {
    await using rig = await rigOf()
    const response = await rig.chat({ stream: true }, old)
    expect(oldHeaders(response)['x-postprocess-status']).toBe('armed')
    await response.text()
  })

  it.each([
    ['the right is missing', bearer(mayNot), access],
    ['nobody has the right', bearer(mayHave), { ...access, deprecatedScope: null }],
    ['the caller is not let in', { authorization: 'Bearer nobody' }, access],
  ])('do not come, silently, when %s', async (_title, headers, rights) => {
    await using rig = await rigOf({ config: { access: rights } })
    const response = await rig.chat({}, { ...headers, 'x-deprecated-layers': everything })
    expect(oldHeaders(response)).toEqual({})
    expect(response.headers.has('x-deprecated-layers')).toBe(false)
    await response.text()
  })

  it('carry the configured prefix', async () => {
    await using rig = await rigOf({ config: { access, headers: { prefix: 'x-acme-' } } })
    const asked = { ...bearer(mayHave), 'x-acme-deprecated-layers': 'auth-status' }
    const response = await rig.chat({}, asked)
    expect(response.headers.get('x-acme-auth-status')).toBe('authenticated')
    await response.text()
  })
})

describe('old headers of layers at the runner', () => {
  it('are what the runner has acknowledged, and the key is the one that the gateway had', async () => {
    await using rig = await rigOf()
    const before = oldHeaders(await rig.chat({}, old))
    await using folded = await rigOf({ stages: allNative })
    const response = await folded.chat({}, old)
    expect(response.headers.get('x-layer-status')).toContain('auth=evaporation-complete;by=runner')
    expect(oldHeaders(response)).toEqual({
      ...told,
      'x-model-router-decision': 'a',
      'x-cache-key': before['x-cache-key'],
    })
    expect(oldHeaders(await folded.chat({}, old))['x-cache-hit']).toBe('true')
  })

  it('are the gateway’s own when the layers have fallen back to it', async () => {
    await using rig = await rigOf({ stages: allNative })
    const response = await rig.chat({ execution_context: { debug_force_fallback: true } }, old)
    expect(response.headers.get('x-fallback-reason')).toBe('debug_force')
    expect(oldHeaders(response)).toEqual({
      ...told,
      'x-model-router-decision': 'a/echo',
      'x-template-engine-version': '1',
    })
  })

  it('come while auth is in shadow or in canary', async () => {
    for (const stage of ['shadow', 'canary'] as const) {
      await using rig = await rigOf({ stages: { ...allNative, auth: stage } })
      const response = await rig.chat({}, old)
      expect(oldHeaders(response)).toMatchObject({ 'x-auth-status': 'authenticated', 'x-cache-hit': 'false' })
    }
  })

  it('do not come for a caller without the right, though only the runner decides who is let in', async () => {
    await using rig = await rigOf({ stages: allNative })
    const response = await rig.chat({}, { ...old, ...bearer(mayNot) })
    expect([response.status, oldHeaders(response)]).toEqual([200, {}])
  })

  it('a debugging caller sees how long each layer took there, and a stranger does not', async () => {
    await using rig = await rigOf({ stages: allNative })
    const response = await rig.chat({}, { ...bearer(mayHave), 'x-foldgate-debug': '1' })
    expect(response.headers.get('server-timing')).toMatch(/runner\.cache;dur=\d+\.\d{3}, .*policy;desc="[0-9a-f]{64}"$/)
    const stranger = await rig.chat({}, { ...bearer(mayNot), 'x-foldgate-debug': '1' })
    expect(stranger.headers.has('server-timing')).toBe(false)
  })
})

const day = 86_400_000
const since = '2026-01-01'
const at = (days: number): Clock => createManualClock(Date.parse(since) + days * day)

/** A gateway on a given day of the sunset, in front of as many runners as are given, some of which may be out. */
async function onDay(days: number, runners: readonly string[]) {
  return startTestGateway({
    clock: at(days),
    runners: runners.map((url) => ({ url, ejectAfter: 1, maxAttempts: 1, connectTimeoutMs: 500 })),
    layers: { auth },
    config: { access, compatibility: { deprecatedLayers: { since, days: 90 } } as never },
  })
}

const ask = (url: string, headers: Readonly<Record<string, string>>): Promise<Response> =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] }),
  })

/** Takes the runners that are away out of rotation: every runner has been asked once. */
async function tried(url: string, times: number): Promise<void> {
  for (let n = 0; n < times; n++) await (await ask(url, bearer(mayNot))).text()
}
const away = 'http://127.0.0.1:1'

describe('the sunset of the old headers', () => {
  it.each([
    [10, 'normal;days-left=80', 'authenticated'],
    [45, 'warned;days-left=45', 'authenticated'],
    [75, 'last;days-left=15', 'authenticated'],
    [90, 'gone;reason=sunset-passed', null],
  ])('on day %d says %s with Deprecation and Sunset', async (days, line, status) => {
    await using upstream = await startUpstream(chat('hello'))
    await using gateway = await onDay(days, [upstream.url])
    const { headers } = await ask(gateway.url, old)
    expect(headers.get('x-deprecated-layers')).toBe(line)
    expect(headers.get('deprecation')).toBe('@1767225600')
    expect(headers.get('sunset')).toBe('Wed, 01 Apr 2026 00:00:00 GMT')
    expect(headers.get('x-auth-status')).toBe(status)
    expect((await ask(gateway.url, bearer(mayHave))).headers.has('deprecation')).toBe(false)
  })

  it.each([
    ['normal', 10, 2, 200],
    ['warned', 45, 2, 503],
    ['last', 75, 2, 503],
    ['gone', 95, 2, 200],
    ['warned', 45, 3, 200],
    ['last', 75, 3, 503],
  ])('in the tier %s (day %d), with one of %d runners out, they are answered %d', async (tier, days, count, status) => {
    await using upstream = await startUpstream(chat('hello'))
    const others = Array.from({ length: count - 1 }, () => upstream.url)
    await using gateway = await onDay(days, [away, ...others])
    await tried(gateway.url, count)
    expect(gateway.setup().board.state('a').available).toBe(false)
    const response = await ask(gateway.url, old)
    expect(response.status).toBe(status)
    if (status === 503) {
      expect(response.headers.get('retry-after')).toBe('2')
      expect(response.headers.get('x-deprecated-layers')).toBe(`shed;days-left=${90 - days}`)
      expect(await response.json()).toMatchObject({ error: { code: 'no_capacity' } })
    } else await response.text()
    const others200 = await ask(gateway.url, bearer(mayHave))
    const stranger = await ask(gateway.url, { ...old, ...bearer(mayNot) })
    expect([others200.status, stranger.status, tier]).toEqual([200, 200, tier])
    await Promise.all([others200.text(), stranger.text()])
  })

  it('a call that was turned away is counted as shed', async () => {
    await using upstream = await startUpstream(chat('hello'))
    await using gateway = await onDay(75, [away, upstream.url])
    await tried(gateway.url, 2)
    await (await ask(gateway.url, old)).text()
    const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
    expect(metrics).toMatch(/^foldgate_requests_total\{route="chat",code="503",source="shed"\} 1$/m)
  })

  it('who asks late is said once in the log', async () => {
    await using upstream = await startUpstream(chat('hello'))
    await using gateway = await onDay(45, [upstream.url])
    for (let n = 0; n < 3; n++) await (await ask(gateway.url, old)).text()
    const lines = gateway.lines.filter(({ msg }) => msg === 'old headers asked for')
    expect(lines).toMatchObject([{ tenant: 't1', client: 'old-client', tier: 'warned', daysLeft: 45 }])
    expect(JSON.stringify(gateway.lines)).not.toContain(mayHave)
  })
})
