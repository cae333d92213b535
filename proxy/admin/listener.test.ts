import { createHash } from 'node:crypto'
import { afterEach, expect, test, vi } from 'vitest'
import { ask, begin } from '../../test/support/ask.ts'
import { failOnLeaks } from '../../test/support/leaks.ts'
import { type AdminOptions, type ChangeRecord, type RunningAdmin, startAdmin } from './listener.ts'
import { createFakeGateway } from './test-operations.ts'

failOnLeaks()

const open: RunningAdmin[] = []
afterEach(async () => {
  for (const admin of open.splice(0)) await admin.close()
})

async function start(options: Partial<AdminOptions> = {}) {
  const gateway = createFakeGateway()
  const changes: ChangeRecord[] = []
  const rules = {
    tokens: [{ name: 'oncall', role: 'operator' as const, digest: createHash('sha256').update('tok').digest() }],
    allowedHosts: [],
  }
  const admin = await startAdmin({
    host: '127.0.0.1',
    port: 0,
    rules: () => rules,
    operations: gateway.operations,
    changed: (record) => void changes.push(record),
    ...options,
  })
  open.push(admin)
  const json = { 'content-type': 'application/json' }
  return {
    gateway,
    changes,
    admin,
    get: (path: string, headers: Record<string, string> = {}) => ask(admin.url + path, { headers }),
    post: (path: string, body: unknown = {}, headers: Record<string, string> = {}) =>
      ask(admin.url + path, {
        method: 'POST',
        body: typeof body === 'string' ? body : JSON.stringify(body),
        headers: { ...json, ...headers },
      }),
  }
}

test('probes say ok, and with verbose what they looked at', async () => {
  const { get, gateway } = await start()
  expect(await get('/healthz/live')).toMatchObject({ status: 200, text: 'ok\n' })
  expect((await get('/healthz/ready?verbose')).text).toBe('[+]ping ok\nready check passed\n')
  gateway.health = [
    { name: 'ping', ok: true },
    { name: 'runner', ok: false, note: 'gpu-a does not answer' },
  ]
  expect(await get('/healthz/ready')).toMatchObject({
    status: 503,
    text: '[+]ping ok\n[-]runner failed: gpu-a does not answer\nready check failed\n',
  })
  expect((await get('/healthz/live')).status).toBe(200)
})

test('metrics come as they are, with their content type', async () => {
  const { get } = await start()
  const answer = await get('/metrics', { host: 'pod-ip.example' })
  expect(answer).toMatchObject({ status: 200, text: 'foldgate_build_info 1\n' })
  expect(answer.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8')
})

test('looks are JSON that nobody stores, frames or guesses at', async () => {
  const { get } = await start()
  for (const path of [
    '/-/layers',
    '/-/config',
    '/-/status',
    '/-/logging',
    '/-/explain?id=req-1',
    '/-/explain?layer=auth',
  ]) {
    const answer = await get(path)
    expect(answer.status).toBe(200)
    expect(() => JSON.parse(answer.text)).not.toThrow()
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    })
    expect(answer.headers['access-control-allow-origin']).toBeUndefined()
  }
})

test.each([
  ['/-/explain', 400, 'exactly one of'],
  ['/-/explain?id=a&layer=b', 400, 'exactly one of'],
  ['/-/explain?id=none', 404, 'no call with this id'],
  ['/-/explain?layer=none', 404, 'no such layer'],
  ['/-/analysis', 400, 'ask with ?layer='],
  ['/-/analysis?layer=auth&withinSeconds=x', 400, 'must be a whole number'],
  ['/-/analysis?layer=cache', 404, 'is not configured'],
  ['/-/evidence?layer=cache', 404, 'is not configured'],
  ['/-/freeze', 405, 'takes POST only'],
  ['/-/degrade', 405, 'takes POST only'],
  ['/-/cache/purge', 405, 'takes POST only'],
  ['/-/history?limit=0', 400, 'whole number from 1 to 1000'],
  ['/-/layers/auth/canary', 405, 'takes POST only'],
  ['/-/layers/auth/melt', 404, 'there is no /-/layers/auth/melt'],
  ['/-/rollback', 405, 'takes POST only'],
  ['/-/nonsense', 404, 'there is no /-/nonsense'],
  ['/-/drain', 405, 'takes POST only'],
  ['/-/reload', 405, 'takes POST only'],
])('GET %s is %i and says why', async (path, status, why) => {
  const { get } = await start()
  const answer = await get(path)
  expect(answer.status).toBe(status)
  expect(answer.headers['content-type']).toBe('application/problem+json')
  expect(JSON.parse(answer.text)).toMatchObject({
    status,
    type: expect.stringMatching(/^urn:foldgate:/),
    detail: expect.stringContaining(why),
  })
  if (status === 405) expect(answer.headers['allow']).toBe('POST')
})

test('changes reach the gateway with their actor, and are recorded with reason and outcome', async () => {
  const { post, gateway, changes } = await start()
  expect((await post('/-/drain', { reason: 'node goes' }, { authorization: 'Bearer tok' })).status).toBe(202)
  expect((await post('/-/reload', '', { 'x-foldgate-actor': 'mia' })).status).toBe(200)
  expect(JSON.parse((await post('/-/logging', { level: 'debug' })).text)).toEqual({ level: 'debug' })
  expect(gateway.told).toEqual(['drain oncall true node goes', 'reload mia', 'level debug loopback'])
  await vi.waitFor(() => expect(changes).toHaveLength(3))
  expect(changes[0]).toEqual({
    actor: { name: 'oncall', role: 'operator', verified: true },
    path: '/-/drain',
    reason: 'node goes',
    status: 202,
  })
})

test('layers are moved with who asked and why', async () => {
  const { post, gateway, changes } = await start()
  const operator = { authorization: 'Bearer tok' }
  const moved = await post('/-/layers/rate-limit/shadow', { reason: 'a try' }, operator)
  expect(JSON.parse(moved.text)).toMatchObject({ verb: 'shadow', changes: [], warnings: [] })
  await post('/-/rollback', { reason: 'enough' }, { 'x-foldgate-actor': 'mia' })
  expect(gateway.told).toEqual(['shadow rate-limit oncall a try', 'rollback all mia enough'])
  await vi.waitFor(() => expect(changes).toHaveLength(2))
  expect(changes[0]).toMatchObject({ path: '/-/layers/rate-limit/shadow', reason: 'a try', status: 200 })
})

test('a reload that is refused says every fault', async () => {
  const { post, gateway } = await start()
  gateway.reload = {
    ...gateway.reload,
    ok: false,
    faults: [{ path: 'listen.port', message: 'must be integer', line: 3 }],
  }
  const answer = await post('/-/reload')
  expect(answer.status).toBe(422)
  expect(JSON.parse(answer.text)).toMatchObject({ ok: false, faults: [{ path: 'listen.port', line: 3 }] })
})

test.each([
  ['not JSON', '/-/drain', '{', 400],
  ['not an object', '/-/drain', '[]', 400],
  ['an unknown member', '/-/drain', { raeson: 'x' }, 400],
  ['without a reason', '/-/layers/auth/shadow', {}, 400],
  ['with an empty reason', '/-/rollback', { reason: ' ' }, 400],
  ['an unknown level', '/-/logging', { level: 'loud' }, 400],
  ['too large', '/-/drain', JSON.stringify({ reason: 'x'.repeat(70_000) }), 413],
])('a change that is %s changes nothing', async (_title, path, body, status) => {
  const { post, gateway } = await start()
  expect((await post(path, body)).status).toBe(status)
  expect(gateway.told).toEqual([])
})

test('a page of another site cannot change anything, nor a name that was bound anew', async () => {
  const { post, get, gateway, admin } = await start()
  const port = new URL(admin.url).port
  expect((await post('/-/drain', {}, { origin: 'http://evil.example' })).status).toBe(403)
  expect((await post('/-/drain', {}, { host: `evil.example:${port}` })).status).toBe(403)
  expect((await get('/-/config', { host: `evil.example:${port}` })).status).toBe(403)
  expect(
    (await ask(`${admin.url}/-/drain`, { method: 'POST', body: '{}', headers: { 'content-type': 'text/plain' } }))
      .status,
  ).toBe(415)
  expect(gateway.told).toEqual([])
  expect((await post('/-/drain', {}, { origin: admin.url })).status).toBe(202)
})

test('a listener on every address asks for a token, and takes one that was added later', async () => {
  const tokens: { name: string; role: 'operator'; digest: Buffer }[] = []
  const { get, admin } = await start({ host: '0.0.0.0', rules: () => ({ tokens, allowedHosts: [] }) })
  const local = admin.url.replace('0.0.0.0', '127.0.0.1')
  const asked = (headers: Record<string, string> = {}) => ask(`${local}/-/config`, { headers })
  const refused = await asked()
  expect(refused.status).toBe(401)
  expect(refused.headers['www-authenticate']).toMatch(/^Bearer/)
  expect((await ask(`${local}/healthz/ready`)).status).toBe(200)
  tokens.push({ name: 'late', role: 'operator', digest: createHash('sha256').update('late').digest() })
  expect((await asked({ authorization: 'Bearer late' })).status).toBe(200)
  void get
})

test('an error never repeats a token', async () => {
  const { get } = await start()
  const answer = await get('/-/config', { authorization: 'Bearer very-secret' })
  expect(answer.status).toBe(401)
  expect(JSON.stringify([answer.headers, answer.text])).not.toContain('very-secret')
})

test('a wait for the end of a drain lasts until it is over', async () => {
  const { get, gateway } = await start()
  const waiting = get('/-/drain/wait')
  expect((await get('/healthz/live')).status).toBe(200)
  gateway.end()
  expect(await waiting).toMatchObject({ status: 200 })
  expect(JSON.parse((await waiting).text)).toEqual({ drained: true, inFlight: 0 })
})

test('a wait whose deadline passes says so', async () => {
  const { get, gateway } = await start()
  gateway.end(false)
  expect((await get('/-/drain/wait')).status).toBe(504)
})

test('a wait ends with the caller and with the listener', async () => {
  const { admin, gateway } = await start()
  const drained = vi.spyOn(gateway.operations, 'drained')
  const signals = () => drained.mock.calls.map(([signal]) => signal.aborted)
  const first = begin(`${admin.url}/-/drain/wait`).catch(() => undefined)
  await vi.waitFor(() => expect(signals()).toEqual([false]))
  await admin.close()
  expect(signals()).toEqual([true])
  await (await first)?.[Symbol.asyncDispose]()
})

test('not more than a hundred wait at a time', async () => {
  const { get, gateway } = await start()
  const drained = vi.spyOn(gateway.operations, 'drained')
  const waiting = Array.from({ length: 100 }, () => get('/-/drain/wait'))
  await vi.waitFor(() => expect(drained).toHaveBeenCalledTimes(100))
  expect((await get('/-/drain/wait')).status).toBe(503)
  gateway.end()
  await Promise.all(waiting)
  expect((await get('/-/drain/wait')).status).toBe(200)
})
