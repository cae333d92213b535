import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { expect, it } from 'vitest'
import { failOnLeaks } from '../test/support/leaks.ts'
import { settingsOf } from './folding/test-rig.ts'
import { type Line, openLine } from './line.ts'

failOnLeaks()

// Made for these tests: the name runners.test, signed by itself, and nobody's secret.
const cert = `-----BEGIN CERTIFICATE-----
MIIBnjCCAUSgAwIBAgIUfmdtGOpEqbj7zgoYopgHv3T0NugwCgYIKoZIzj0EAwIw
FzEVMBMGA1UEAwwMcnVubmVycy50ZXN0MCAXDTI2MTEzMDE2NTEzM1oYDzIxMjYx
MTA2MTY1MTMzWjAXMRUwEwYDVQQDDAxydW5uZXJzLnRlc3QwWTATBgcqhkjOPQIB
BggqhkjOPQMBBwNCAASuoC0iA8nwv7ZRGdwP2x+1E9qQdzh+3I62stAbVaulNvV4
M6Bkb7tIdkhRVb/fkDr+w7P0PKPQS/bgu56hbN8No2wwajAdBgNVHQ4EFgQULUji
uthqxg0uhlxdjHv5XkWjULMwHwYDVR0jBBgwFoAULUjiuthqxg0uhlxdjHv5XkWj
ULMwDwYDVR0TAQH/BAUwAwEB/zAXBgNVHREEEDAOggxydW5uZXJzLnRlc3QwCgYI
KoZIzj0EAwIDSAAwRQIhALuAKpYavuPT6O3DtZhnFhweePTYOrv0EGifJDrKi2iW
AiBGwoAJcfJleMP3Uw1K3uUOhwoYCqg3GgdbEBimJbdo6w==
-----END CERTIFICATE-----`
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgZrJsIx1MLsISzhN6
3v02QqSqk5qPG+sTsNTWArVvtpqhRANCAASuoC0iA8nwv7ZRGdwP2x+1E9qQdzh+
3I62stAbVaulNvV4M6Bkb7tIdkhRVb/fkDr+w7P0PKPQS/bgu56hbN8N
-----END PRIVATE KEY-----`

async function listening(server: Server): Promise<number> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return (server.address() as AddressInfo).port
}

async function ask(line: Line): Promise<string> {
  const { body } = await line.pool.request({ method: 'GET', path: '/', headers: [...line.headers] })
  return body.text()
}

async function closed(line: Line, server: Server): Promise<void> {
  await line.pool.destroy()
  await new Promise((done) => server.close(done))
}

it('a line to one address of a name asks for the name there', async () => {
  const server = createServer(({ headers }, response) => void response.end(headers.host))
  const port = await listening(server)
  const line = openLine(settingsOf(`http://runners.test:${port}`), '127.0.0.1')
  expect(await ask(line)).toBe(`runners.test:${port}`)
  expect([line.address, line.peer]).toEqual(['runners.test', '127.0.0.1'])
  await closed(line, server)
})

it('the certificate there must have the name', async () => {
  const server = createTlsServer({ cert, key }, ({ socket }, response) => {
    response.end(String((socket as TLSSocket & { servername?: string }).servername))
  })
  const port = await listening(server)
  const tls = { ca: Buffer.from(cert) }
  const line = openLine(settingsOf(`https://runners.test:${port}`, { tls }), '127.0.0.1')
  expect(await ask(line)).toBe('runners.test')
  const other = openLine(settingsOf(`https://other.test:${port}`, { tls }), '127.0.0.1')
  await expect(ask(other)).rejects.toThrow(/altnames/)
  await other.pool.destroy()
  await closed(line, server)
})

it('calls with a context go without the API key', async () => {
  const line = openLine(settingsOf('http://127.0.0.1:1', { apiKey: 'sk-1', headers: { 'x-team': 'a' } }))
  expect(line.headers).toContain('Bearer sk-1')
  expect(line.contextHeaders).not.toContain('authorization')
  expect(line.contextHeaders.slice(-2)).toEqual(['x-team', 'a'])
  await line.pool.destroy()
})
