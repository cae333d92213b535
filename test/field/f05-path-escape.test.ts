import { describe, expect, test } from 'vitest'
import { ask } from '../support/ask.ts'
import { failOnLeaks } from '../support/leaks.ts'
import { json } from '../support/reply.ts'
import { type Rig, startRig } from './rig.ts'

failOnLeaks()

const everything = { config: { listen: { passthrough: ['/'] } } }
const escapes = [
  '/v1/%2e%2e/admin',
  '/v1/..%2fadmin',
  '/v1/../admin',
  '/v1/%252e%252e%252fadmin',
  '/v1/%25252e%25252e/admin',
  '/v1/%2525252525252e%2525252525252e/admin',
  '/v1/..\\admin',
  '/v1\\..\\admin',
  '/v1/%5c..%5cadmin',
  '/v1/;/../admin',
  '/v1/..;/admin',
  '/v1/..;x=1/admin',
  '/v1/%2e%2e%3b/admin',
  '/v1/.%2e/admin',
  '/v1/./admin',
  '/v1/files/..',
  '/v1/files/%2e',
  '/v1/%00/files',
  '/v1/files%00.json',
  '/v1/files%0d%0aX-Injected:%201',
  '/v1/%zz',
  '/v1/files/%',
  '/v1/files/%e0%a4',
  '/v1/files#/../admin',
]
const legitimate = [
  '/v1/files/a...b',
  '/v1/files/...',
  '/v1/files/.hidden',
  '/v1/files/a..b',
  '/v1/files/name..',
  '/v1/files/..name',
  '/v1/models/org%2Fname',
  '/v1/models/org%2fname:free',
  '/v1/files/100%25',
  '/v1/files/a%20b?x=../..&y=%2e%2e',
  '/v1/files/%E5%8C%97',
  '/v1/files/a;v=1',
  '/v1/files/a+b@c,d',
]

describe('F05 a path that could mean another one further in', () => {
  test.each(escapes)('%s is a 400, and no runner hears of it', async (path) => {
    for (const options of [{}, everything]) {
      await using rig = await startRig(json({ ok: true }), options)
      for (const method of ['GET', 'POST']) {
        const answer = await ask(rig.gateway.url, { method, path, ...(method === 'POST' && { body: '{}' }) })
        expect(answer.status, `${method} ${answer.text}`).toBe(400)
        expect(answer.json().error.type).toBe('invalid_request_error')
        expect(answer.headers['x-layer-status']).toContain('auth=evaporation-bypassed')
      }
      expect(rig.u.requests).toHaveLength(0)
    }
  })
})

describe('F05 a path that means what it says', () => {
  test.each(legitimate)('%s reaches the runner as it was written', async (path) => {
    await using rig = await startRig(json({ ok: true }))
    const answer = await ask(rig.gateway.url, { path })
    expect(answer.status, answer.text).toBe(200)
    expect(pathsAt(rig)).toEqual([path])
  })
})

test('F05 a prefix ends where it says', async () => {
  await using rig = await startRig(json({ ok: true }), { config: { listen: { passthrough: ['/v1/public/'] } } })
  for (const path of ['/v1/publicity', '/v1/private', '/v1/PUBLIC/x', '/v1/%70ublic/x', '/v1/public%2Fx']) {
    expect((await ask(rig.gateway.url, { path })).status, path).toBe(404)
  }
  expect((await ask(rig.gateway.url, { path: '/v1/public/x' })).status).toBe(200)
  expect(pathsAt(rig)).toEqual(['/v1/public/x'])
})

function pathsAt({ u }: Rig): readonly string[] {
  return u.requests.map((request) => request.path)
}
