import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask } from '../../../test/support/ask.ts'
import { failOnLeaks } from '../../../test/support/leaks.ts'
import { type RunningAdmin, startAdmin } from '../listener.ts'
import { createFakeGateway, type FakeGateway } from '../test-operations.ts'

failOnLeaks()

let admin: RunningAdmin
let gateway: FakeGateway
beforeAll(async () => {
  gateway = createFakeGateway()
  const rules = () => ({ tokens: [], allowedHosts: [] })
  admin = await startAdmin({ host: '127.0.0.1', port: 0, rules, operations: gateway.operations })
})
afterAll(() => admin.close())

test('the page comes with a policy that lets nothing else in, and holds nothing inline', async () => {
  const { status, headers, text } = await ask(`${admin.url}/`)
  expect(status).toBe(200)
  expect(headers['content-type']).toBe('text/html; charset=utf-8')
  expect(headers['content-security-policy']).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self'/)
  expect(headers['content-security-policy']).not.toMatch(/unsafe|http|data:/)
  expect(headers).toMatchObject({ 'x-frame-options': 'DENY', 'x-content-type-options': 'nosniff' })
  expect(text).not.toMatch(/https?:\/\/|<style|style=|onclick|<script>/)
})

test('every file that the page and its modules name is there, and no other address', async () => {
  const html = (await ask(`${admin.url}/`)).text
  const seen = new Set<string>()
  const open = [...html.matchAll(/(?:href|src)="-\/page\/([^"]+)"/g)].map(([, name]) => name as string)
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (seen.has(name)) continue
    seen.add(name)
    const { status, text } = await ask(`${admin.url}/-/page/${name}`)
    expect([name, status]).toEqual([name, 200])
    if (!name.endsWith('.svg'))
      expect(text).not.toMatch(/https?:\/\/(?!www\.w3\.org\/2000\/svg)|innerHTML|@import|url\(/)
    open.push(...[...text.matchAll(/from '\.\/([^']+)'/g)].map(([, each]) => each as string))
  }
  expect(seen.size).toBeGreaterThan(15)
})

test('a file that is held already is not sent again', async () => {
  const { headers } = await ask(`${admin.url}/-/page/page.js`)
  const held = await ask(`${admin.url}/-/page/page.js`, { headers: { 'if-none-match': `"other", ${headers['etag']}` } })
  expect([held.status, held.text]).toEqual([304, ''])
  const other = await ask(`${admin.url}/-/page/page.js`, { headers: { 'if-none-match': '"other"' } })
  expect(other.status).toBe(200)
})

test.each([
  'nothing.js',
  '..%2f..%2fendpoint.ts',
  '%2e%2e/endpoint.ts',
  'tsconfig.json',
  'runbooks/..%2fREADME',
  'runbooks/none',
])('there is no way to other files: %s is not there', async (name) => {
  expect((await ask(`${admin.url}/-/page/${name}`)).status).toBe(404)
})

test('a runbook that lies beside the program is shown as text', async () => {
  const { status, headers, text } = await ask(`${admin.url}/-/page/runbooks/layer-rolled-back`)
  expect([status, headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8'])
  expect(text).toContain('## First command')
})

test('neither the page nor what it asks for is there for another host or site, and no GET changes anything', async () => {
  const port = new URL(admin.url).port
  for (const headers of [{ host: `evil.example:${port}` }, { origin: 'http://evil.example' }] as Record<
    string,
    string
  >[]) {
    for (const path of ['/', '/-/page/page.js', '/-/events'])
      expect((await ask(admin.url + path, { headers })).status).toBe(403)
    const change = {
      method: 'POST',
      body: '{"reason":"x"}',
      headers: { 'content-type': 'application/json', ...headers },
    }
    expect((await ask(`${admin.url}/-/rollback`, change)).status).toBe(403)
  }
  const paths = ['/', '/-/page/page.js', '/-/layers/auth/rollback', '/-/rollback', '/-/drain', '/-/reload']
  for (const path of paths) await ask(admin.url + path)
  expect(gateway.told).toEqual([])
})
