import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createApiKey } from '../../plugins/auth/api-key.ts'
import { ask, begin, get, post } from '../support/ask.ts'
import { connect } from '../support/client.ts'
import { until } from '../support/gate.ts'
import { startTestGateway } from '../support/gateway.ts'
import { failOnLeaks } from '../support/leaks.ts'
import { json, rawReply, reply } from '../support/reply.ts'
import { startUpstream } from '../support/upstream.ts'

failOnLeaks()

const { key } = createApiKey()
const auth = {
  apiKeys: [{ id: 'one', hash: createHash('sha256').update(key).digest('hex'), tenant: 't1', tier: 'free' }],
}
const bearer = { Authorization: `Bearer ${key}` }
const ok = json({ ok: true })
const bypassed = /auth=evaporation-bypassed;by=none/

describe('what is passed on', () => {
  test('a path on the list goes to the runner as bytes, method, query and body untouched', async () => {
    await using u = await startUpstream(json({ id: 'file-1' }, 201, { 'X-Mine': 'yes' }))
    await using gateway = await startTestGateway({ runners: [u.url] })
    const answer = await post(`${gateway.url}/v1/files?purpose=batch&a=%2F`, 'not { json', {
      'Content-Type': 'text/x-odd',
    })
    expect([answer.status, answer.json(), answer.headers['x-mine']]).toEqual([201, { id: 'file-1' }, 'yes'])
    const [request] = u.requests
    expect([request?.method, request?.path]).toEqual(['POST', '/v1/files?purpose=batch&a=%2F'])
    expect(request?.body.toString()).toBe('not { json')
    expect(request?.headers['content-type']).toBe('text/x-odd')
    expect(answer.headers['x-layer-status']).toMatch(bypassed)
    expect(answer.headers['x-request-id']).toBeTruthy()
  })

  test.each(['GET', 'HEAD', 'OPTIONS', 'PUT', 'PATCH', 'DELETE'])('%s goes on as it is', async (method) => {
    await using u = await startUpstream(json({ ok: true }, 200, { 'Content-Length': '11' }))
    await using gateway = await startTestGateway({ runners: [u.url] })
    const answer = await ask(`${gateway.url}/v1/files/f1`, { method })
    expect([answer.status, u.requests[0]?.method]).toEqual([200, method])
    expect(answer.text).toBe(method === 'HEAD' ? '' : '{"ok":true}')
    expect(answer.headers['content-length']).toBe('11')
  })

  test('a body without a length streams on while it comes, and so does the answer', async () => {
    await using u = await startUpstream(reply(200, { 'Content-Type': 'text/plain' }).send('one').stall().send('two'), {
      eager: true,
    })
    await using gateway = await startTestGateway({ runners: [u.url] })
    await using client = await connect(`${gateway.url}/v1/audio`)
    await client.write('POST /v1/audio HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n')
    const response = await client.response()
    await response.shows('one')
    await until(() => u.requests[0]?.body.toString() === 'first', 'the first part has arrived')
    await client.write('6\r\nsecond\r\n0\r\n\r\n')
    await until(() => u.requests[0]?.complete === true, 'the body is whole')
    u.release()
    await response.done()
    expect([response.text, u.requests[0]?.body.toString()]).toEqual(['onetwo', 'firstsecond'])
  })

  test('a base path of the runner comes first', async () => {
    await using u = await startUpstream(ok)
    await using gateway = await startTestGateway({ runners: [`${u.url}/team/v1`] })
    await get(`${gateway.url}/v1/files`)
    expect(u.requests[0]?.path).toBe('/team/v1/files')
  })

  test('a caller that asks for the connection to close gets that', async () => {
    await using u = await startUpstream(ok)
    await using gateway = await startTestGateway({ runners: [u.url] })
    await using asking = await begin(`${gateway.url}/v1/files`, { headers: { Connection: 'close' } })
    await asking.client.closed()
    expect(asking.response.json()).toEqual({ ok: true })
    expect(asking.response.headers['connection']).toBe('close')
  })

  test('an offer of h2c is ignored, on our own routes and on those passed on', async () => {
    await using u = await startUpstream(json({ object: 'list', data: [] }))
    await using gateway = await startTestGateway({ runners: [u.url] })
    for (const path of ['/v1/models', '/v1/files']) {
      const headers = { Connection: 'Upgrade, HTTP2-Settings', Upgrade: 'h2c', 'HTTP2-Settings': 'AAMAAABkAAQAoAAA' }
      expect((await get(gateway.url + path, headers)).status).toBe(200)
    }
    for (const request of u.requests) expect(Object.keys(request.headers)).not.toContain('upgrade')
  })
})

describe('what is not passed on', () => {
  const settings = (url: string, passthrough: string[] = ['/v1/']) => ({
    runners: [url],
    config: { listen: { passthrough } },
  })

  test.each(['/', '/admin', '/v2/files', '/V1/files', '/v1', '//v1/files'])('%s is not on the list', async (path) => {
    await using u = await startUpstream(ok)
    await using gateway = await startTestGateway(settings(u.url))
    const answer = await ask(gateway.url, { path })
    expect([answer.status, answer.json().error.code]).toEqual([404, 'not_found'])
    expect(answer.headers['x-layer-status']).toMatch(bypassed)
    expect(u.requests).toHaveLength(0)
  })

  test.each([
    '/.well-known/execution-context',
    '/.well-known/execution-context/policies/x',
    '/metrics',
    '/healthz/live',
    '/METRICS',
    '/%6detrics',
    '/metrics/',
  ])('%s is never passed on, even where everything is', async (path) => {
    await using u = await startUpstream(ok)
    await using gateway = await startTestGateway(settings(u.url, ['/']))
    expect((await ask(gateway.url, { path })).status).toBe(404)
    expect(u.requests).toHaveLength(0)
  })

  test.each([
    '/v1/chat/completions/',
    '/v1//chat/completions',
    '/v1/chat%2Fcompletions',
    '/V1/Chat/Completions',
    '/v1/chat%252Fcompletions',
    '/v1/messages/',
    '/v1/%6dodels/',
  ])('our own path spelt %s does not reach a runner past the layers', async (path) => {
    await using u = await startUpstream(ok)
    await using gateway = await startTestGateway(settings(u.url, ['/']))
    for (const method of ['POST', 'GET']) {
      const answer = await ask(gateway.url, { method, path, headers: { 'Content-Length': '0' } })
      expect([400, 404, 405], `${method} ${answer.status}`).toContain(answer.status)
    }
    expect(u.requests).toHaveLength(0)
  })

  test.each([
    ['GET', '/v1/chat/completions', 'POST'],
    ['OPTIONS', '/v1/completions', 'POST'],
    ['DELETE', '/v1/models', 'GET, HEAD'],
    ['TRACE', '/v1/files', 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'],
  ])('%s %s is answered 405 and what is allowed', async (method, path, allow) => {
    await using u = await startUpstream(ok)
    await using gateway = await startTestGateway(settings(u.url))
    const answer = await ask(gateway.url, { method, path })
    expect([answer.status, answer.json().error.code, answer.headers['allow']]).toEqual([
      405,
      'method_not_allowed',
      allow,
    ])
    expect(answer.headers['x-layer-status']).toMatch(bypassed)
    expect(u.requests).toHaveLength(0)
  })

  test('a method nobody knows is answered 405', async () => {
    await using u = await startUpstream(ok)
    await using gateway = await startTestGateway(settings(u.url))
    const answer = await ask(gateway.url, { method: 'PROPFIND', path: '/v1/files' })
    expect([answer.status, answer.json().error.code]).toEqual([405, 'method_not_allowed'])
    expect(answer.headers['x-layer-status']).toMatch(bypassed)
  })

  test('a caller without a credential is refused before the runner is asked', async () => {
    await using u = await startUpstream(ok)
    await using gateway = await startTestGateway({ runners: [u.url], layers: { auth } })
    const refused = await get(`${gateway.url}/v1/files`)
    expect([refused.status, u.requests.length]).toEqual([401, 0])
    expect(refused.headers['x-layer-status']).toContain('auth=active;by=gateway')
    expect((await get(`${gateway.url}/v1/files`, bearer)).status).toBe(200)
  })

  test('requests passed on count', async () => {
    const limits = [{ key_fields: ['client_ip'], requests_per_minute: 1 }]
    await using u = await startUpstream(ok)
    await using gateway = await startTestGateway({ runners: [u.url], layers: { 'rate-limit': { limits } } })
    expect((await get(`${gateway.url}/v1/files`)).status).toBe(200)
    expect((await get(`${gateway.url}/v1/files`)).status).toBe(429)
  })
})

describe('credentials', () => {
  test('none of the caller’s reaches the runner, which sees its own', async () => {
    await using u = await startUpstream(ok)
    await using gateway = await startTestGateway({
      runners: [{ url: u.url, headers: { Authorization: 'Bearer of-the-runner' } }],
    })
    const secrets = [
      'x-api-key',
      'API-Key',
      'x-goog-api-key',
      'Cookie',
      'Proxy-Authorization',
      'X-Caller-Credential',
      'x-custom-secret',
    ]
    const headers = { ...bearer, ...Object.fromEntries(secrets.map((name) => [name, `sk-${name}-secret`])) }
    await get(
      `${gateway.url}/v1/files?key=sk-query&api_key=sk-query&keep=1&access_token=sk-query&%6bey=sk-query`,
      headers,
    )
    const [request] = u.requests
    expect(request?.path).toBe('/v1/files?keep=1')
    expect(request?.headers['authorization']).toBe('Bearer of-the-runner')
    expect(request?.lines.join('\n')).not.toMatch(/sk-|secret/)
    expect(request?.lines.join('\n')).not.toContain(key)
  })

  test('a caller cannot nominate the runner’s credential away', async () => {
    await using u = await startUpstream(ok)
    await using gateway = await startTestGateway({
      runners: [{ url: u.url, headers: { Authorization: 'Bearer of-the-runner' } }],
    })
    await get(`${gateway.url}/v1/files`, { Connection: 'close, authorization' })
    expect(u.requests[0]?.headers['authorization']).toBe('Bearer of-the-runner')
  })
})

describe('failures', () => {
  test('a runner that is down is a 503', async () => {
    const u = await startUpstream(ok)
    await u.close()
    await using gateway = await startTestGateway({ runners: [u.url] })
    const answer = await get(`${gateway.url}/v1/files`)
    expect([answer.status, answer.json().error.code]).toEqual([503, 'runner_unreachable'])
    expect(answer.headers['retry-after']).toBe('1')
    expect(answer.headers['x-layer-status']).toMatch(bypassed)
  })

  test('a runner that is down is left out after some failures, and another one asked', async () => {
    const dead = await startUpstream(ok)
    await dead.close()
    await using u = await startUpstream(ok)
    await using gateway = await startTestGateway({ runners: [{ url: dead.url, ejectAfter: 2 }, u.url] })
    const statuses = []
    for (let i = 0; i < 4; i++) statuses.push((await get(`${gateway.url}/v1/files`)).status)
    expect(statuses).toEqual([503, 503, 200, 200])
  })

  test('a runner that breaks off before its head is a 502', async () => {
    await using u = await startUpstream(rawReply().reset())
    await using gateway = await startTestGateway({ runners: [u.url] })
    expect((await get(`${gateway.url}/v1/files`)).status).toBe(502)
  })

  test.each([
    ['of a known length', reply(200, { 'Content-Length': '100' }).length().send('part').reset()],
    ['in chunks', reply().send('part').reset()],
    ['in chunks, by a FIN', reply().send('part').fin()],
  ])('a body %s that breaks off is cut for the caller too, and counts as the runner’s failure', async (_, broken) => {
    await using u = await startUpstream(broken)
    await using gateway = await startTestGateway({ runners: [u.url] })
    const answer = await ask(`${gateway.url}/v1/files`)
    expect([answer.text, answer.ended === 'complete']).toEqual(['part', false])
    await until(() => gateway.lines.some(({ error }) => error === 'runner_error'), 'the log tells')
    expect(gateway.lines).toContainEqual(
      expect.objectContaining({ route: 'passthrough', error: 'runner_error', status: 502 }),
    )
  })

  test('a runner that does not begin is a 504 within its time, and one that falls silent is cut', async () => {
    await using u = await startUpstream([rawReply().stall(), reply().send('part').stall()])
    await using gateway = await startTestGateway({
      runners: [{ url: u.url, firstByteTimeoutMs: 500, idleTimeoutMs: 500 }],
    })
    const late = await get(`${gateway.url}/v1/files`)
    expect([late.status, late.json().error.code]).toEqual([504, 'runner_timeout'])
    await u.closed(0)
    const silent = await get(`${gateway.url}/v1/files`)
    expect([silent.text, silent.ended === 'complete']).toEqual(['part', false])
    await u.closed(1)
    await until(() => gateway.lines.filter(({ error }) => error === 'runner_timeout').length === 2, 'the log tells')
  })

  test.each([
    ['before the head', rawReply().stall()],
    ['in the body', reply().send('part').stall()],
  ])('a caller that leaves %s takes the runner along', async (_, stalled) => {
    await using u = await startUpstream(stalled)
    await using gateway = await startTestGateway({ runners: [u.url] })
    await using client = await connect(`${gateway.url}/v1/files`)
    await client.request({})
    await (await u.request(0)).stalled()
    client.vanish()
    await u.closed(0, 1_000)
    await until(() => gateway.lines.some(({ status }) => status === 499), 'the log tells')
  })

  test('a caller that leaves in the middle of its upload takes the runner along', async () => {
    await using u = await startUpstream(ok)
    await using gateway = await startTestGateway({ runners: [u.url] })
    await using client = await connect(`${gateway.url}/v1/files`)
    await client.write('POST /v1/files HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf')
    await u.began(0)
    client.vanish()
    await u.closed(0, 1_000)
  })
})
