import { describe, expect, test } from 'vitest'
import { ask, get, post } from '../support/ask.ts'
import { chat, completionBody } from '../support/chat-replies.ts'
import { failOnLeaks } from '../support/leaks.ts'
import { json } from '../support/reply.ts'
import { chatRequest, messageRequest, startRig } from './rig.ts'
import { stacks } from './stacks.ts'

failOnLeaks()

const outward = {
  Connection: 'close, x-hop, authorization, x-layer-status, content-length',
  'X-Hop': '1',
  TE: 'trailers',
  Trailer: 'x-late',
  'Proxy-Authorization': 'z',
  'Proxy-Connection': 'keep-alive',
  'Keep-Alive': 'timeout=5',
  Authorization: 'Bearer of-the-caller',
  'X-Execution-Context': 'forged',
  'X-Layer-Ack': 'forged',
  'X-Caller-Credential': 'forged',
}
const hops = [
  'x-hop',
  'te',
  'trailer',
  'proxy-authorization',
  'proxy-connection',
  'keep-alive',
  'x-execution-context',
  'x-layer-ack',
  'x-caller-credential',
]
const inward = {
  Connection: 'keep-alive, x-hop, x-layer-status, x-request-id',
  'X-Hop': '1',
  'X-Stays': 'yes',
  'Keep-Alive': 'timeout=5',
  'Proxy-Authenticate': 'Basic',
  'Proxy-Connection': 'keep-alive',
  Upgrade: 'h2c',
  'X-Layer-Status': 'forged',
  'X-Execution-Context': 'forged',
  'X-Request-Id': 'forged',
  'X-Layer-Ack': 'forged',
  'Set-Cookie': 'a=b',
  Server: 'theirs',
}
const runner = { headers: { Authorization: 'Bearer of-the-runner' } }

describe.each(stacks)('F03 behind $name', (stack) => {
  test('headers of one hop, and nominated ones, reach no runner; our own cannot be nominated away', async () => {
    await using rig = await startRig(chat('hi'), { stack, runner })
    for (const url of [rig.chat, rig.messages]) {
      expect((await post(url, messageRequest(), outward)).status).toBe(200)
    }
    await ask(`${rig.gateway.url}/v1/files`, { headers: outward, body: '{}' })
    expect(rig.u.requests).toHaveLength(3)
    for (const { headers, body } of rig.u.requests) {
      expect(Object.keys(headers)).not.toEqual(expect.arrayContaining([expect.stringMatching(`^(${hops.join('|')})$`)]))
      expect(headers['authorization']).toBe('Bearer of-the-runner')
      expect(headers['content-length']).toBe(String(body.length))
      expect(JSON.stringify(headers)).not.toContain('forged')
    }
  })

  test('headers of one hop, and nominated ones, reach no caller; our own cannot be nominated away (scenario 17)', async () => {
    await using rig = await startRig(() => json(completionBody('hi'), 200, inward), { stack })
    const answers = [
      await post(rig.chat, chatRequest()),
      await post(rig.messages, messageRequest()),
      await get(`${rig.gateway.url}/v1/files`),
    ]
    for (const { headers, status } of answers) {
      expect(status).toBe(200)
      for (const name of [
        'x-hop',
        'proxy-authenticate',
        'proxy-connection',
        'upgrade',
        'set-cookie',
        'x-execution-context',
        'x-layer-ack',
      ])
        expect(headers).not.toHaveProperty(name)
      expect(headers['x-stays']).toBe('yes')
      expect(headers['x-layer-status']).toMatch(/^auth=/)
      expect(headers['x-request-id']).toMatch(/^[0-9a-f]{32}$/)
      expect(JSON.stringify(headers)).not.toContain('forged')
    }
  })
})

test('F03 what a caller nominates does not reach the runner on a path that is passed on', async () => {
  await using rig = await startRig(json({ ok: true }))
  await get(`${rig.gateway.url}/v1/files`, {
    Connection: 'idempotency-key',
    'Idempotency-Key': 'k',
    'User-Agent': 'me',
  })
  expect(rig.u.requests[0]?.headers).not.toHaveProperty('idempotency-key')
  expect(rig.u.requests[0]?.headers['user-agent']).toBe('me')
})
