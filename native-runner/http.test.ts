import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEgress } from './egress.ts'
import { createEgressHttp } from './http.ts'

describe('createEgress()', () => {
  it.each<[string, string, boolean]>([
    ['keys.example', 'https://keys.example/jwks', true],
    ['keys.example', 'https://keys.example:8443/jwks', true],
    ['Keys.Example', 'https://KEYS.example/', true],
    ['keys.example:443', 'https://keys.example/', true],
    ['keys.example:443', 'http://keys.example/', false],
    ['keys.example:443', 'https://keys.example:8443/', false],
    ['keys.example', 'https://keys.example.evil/', false],
    ['keys.example', 'https://evil/keys.example', false],
    ['keys.example', 'https://keys.example@evil/', false],
    ['keys.example', 'file://keys.example/etc/passwd', false],
    ['keys.example', 'ftp://keys.example/', false],
    ['keys.example', 'no url', false],
    ['[::1]:8080', 'http://[::1]:8080/', true],
    ['127.0.0.1', 'http://0x7f.1/', true],
  ])('%s: %s is %s', (host, url, allowed) => {
    expect(createEgress([host])(url)).toBe(allowed)
  })

  it.each(['http://h', 'h/path', 'h?x', '', 'a b', 'h/', '*.h', 'u@h'])('%s is no host', (host) => {
    expect(() => createEgress([host])).toThrow(/egress host/)
  })
})

describe('createEgressHttp()', () => {
  let server: Server
  let url = ''
  const paths: string[] = []
  beforeAll(async () => {
    server = createServer((request, response) => {
      paths.push(request.url ?? '')
      if (request.url === '/away') response.writeHead(302, { location: `${url}/found` }).end()
      else if (request.url === '/long') response.end('x'.repeat(2_000))
      else if (request.url !== '/never') response.end(request.method)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })

  it('reaches an allowed host, follows no redirect, and bounds what it reads and waits for', async () => {
    const http = createEgressHttp(createEgress(['127.0.0.1']))
    try {
      const { status, body } = await http.send(`${url}/`, { method: 'POST', body: 'x', timeoutMs: 2_000 })
      expect([status, body.toString()]).toEqual([200, 'POST'])
      expect((await http.send(`${url}/away`, { timeoutMs: 2_000 })).status).toBe(302)
      expect(paths).not.toContain('/found')
      const long = http.send(`${url}/long`, { timeoutMs: 2_000, maxBytes: 1_000 })
      await expect(long).rejects.toMatchObject({ code: 'runner_protocol' })
      const never = http.send(`${url}/never`, { timeoutMs: 50 })
      await expect(never).rejects.toMatchObject({ code: 'runner_timeout' })
    } finally {
      await http.close()
    }
  })

  it('opens no connection to any other', async () => {
    const http = createEgressHttp(createEgress(['elsewhere']))
    const before = paths.length
    await expect(http.send(`${url}/`, { timeoutMs: 2_000 })).rejects.toMatchObject({ code: 'runner_unreachable' })
    expect(paths).toHaveLength(before)
    await http.close()
  })
})
