import { existsSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { createLocalJWKSet, createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { describe, expect, test } from 'vitest'
import { ask, begin, get } from './ask.ts'
import { sseHead } from './chat-replies.ts'
import { createManualClock } from './clock.ts'
import { startJwks } from './jwks-server.ts'
import { createKey, createSecret, forgeToken, signHmac, signToken } from './jwt.ts'
import { leakage } from './leakage.ts'
import { activeResources, failOnLeaks, leftSince, nothingLeft } from './leaks.ts'
import { freePort } from './ports.ts'
import { startProcess } from './processes.ts'
import { createTempDir } from './temp-dir.ts'
import { startUpstream } from './upstream.ts'

failOnLeaks()

describe('leaks', () => {
  test('a server that is left open is named, and nothing is left once it is closed', async () => {
    const before = activeResources()
    const server = createServer().listen(0, '127.0.0.1')
    await new Promise((done) => server.once('listening', done))
    expect(leftSince(before)).toEqual(['1 TCPServerWrap'])
    await expect(nothingLeft(before, 20)).rejects.toThrow('1 TCPServerWrap')
    server.close()
    await nothingLeft(before)
  })

  test('a timer that is left running is named', () => {
    const before = activeResources()
    const timer = setTimeout(() => {}, 60_000)
    expect(leftSince(before)).toEqual(['1 Timeout'])
    clearTimeout(timer)
  })

  test('an answer still under way when its upstream goes is a leak', async () => {
    const u = await startUpstream(sseHead().stall())
    await using asking = await begin(u.url)
    expect(leakage.take()).toEqual([])
    await u[Symbol.asyncDispose]()
    expect(leakage.take()).toEqual([expect.stringContaining('1 answers')])
    expect((await asking.response.done()).how).toBe('reset')
  })
})

describe('processes', () => {
  const script = "process.on('SIGTERM', () => process.exit(3)); setInterval(() => {}, 1000); console.log('up on 4711')"

  test('a process is ready when its line comes, and gone when disposed', async () => {
    let pid: number
    let exit: Promise<unknown>
    {
      await using child = await startProcess({ args: ['-e', script], ready: /up on (\d+)/ })
      expect(child.readyMatch[1]).toBe('4711')
      pid = child.pid
      exit = child.exit
    }
    expect(await exit).toEqual({ code: 3, signal: null })
    expect(() => process.kill(pid, 0)).toThrow('ESRCH')
  })

  test('one that ends before it is ready says with what words', async () => {
    const started = startProcess({ args: ['-e', "console.error('no luck'); process.exit(7)"], ready: /up/ })
    await expect(started).rejects.toThrow(/ended \(7\).*no luck/s)
    await expect(startProcess({ command: '/no/such/command', args: [] })).rejects.toThrow('ENOENT')
  })

  test('one that ignores SIGTERM is killed, and its environment is as told', async () => {
    const child = await startProcess({
      args: ['-e', "process.on('SIGTERM', () => {}); console.log(process.env.RIG); setInterval(() => {}, 1000)"],
      env: { RIG: 'here' },
      ready: /here/,
      politeMs: 50,
    })
    await child[Symbol.asyncDispose]()
    expect(await child.exit).toEqual({ code: null, signal: 'SIGKILL' })
  })

  test('a temporary directory goes with what is in it', async () => {
    let path: string
    {
      await using dir = createTempDir()
      path = dir.path
      writeFileSync(dir.file('a'), 'x')
      expect(existsSync(path)).toBe(true)
    }
    expect(existsSync(path)).toBe(false)
  })

  test('a free port refuses a connection until somebody listens', async () => {
    const port = await freePort()
    await expect(get(`http://127.0.0.1:${port}`)).rejects.toThrow('ECONNREFUSED')
    await using u = await startUpstream(sseHead(), { port })
    expect((await get(u.url)).status).toBe(200)
  })
})

describe('tokens', () => {
  test.each(['RS256', 'PS256', 'ES256', 'EdDSA'] as const)('a %s token is verified by its public half', async (alg) => {
    const key = await createKey(alg)
    const token = await signToken(key, { sub: 'a', exp: 4_000_000_000 })
    expect((await jwtVerify(token, createLocalJWKSet({ keys: [key.publicJwk] }))).payload['sub']).toBe('a')
    const other = await createKey(alg)
    await expect(jwtVerify(token, createLocalJWKSet({ keys: [other.publicJwk] }))).rejects.toThrow()
  })

  test('forged and secret-signed tokens look as asked', async () => {
    const secret = createSecret()
    expect((await jwtVerify(signHmac(secret, { sub: 'b' }), secret)).payload['sub']).toBe('b')
    const forged = forgeToken({ alg: 'none' }, { sub: 'c' })
    expect(forged.endsWith('.')).toBe(true)
    const token = await signToken(await createKey('ES256'), {}, { header: { kid: undefined, jku: 'http://x' } })
    expect(decodeProtectedHeader(token)).toEqual({ alg: 'ES256', typ: 'JWT', jku: 'http://x' })
  })

  test('a key set server counts fetches and turns keys, faults and pace', async () => {
    const key = await createKey('ES256', 'one')
    await using jwks = await startJwks()
    expect((await get(jwks.url)).json()).toEqual({ keys: [] })
    jwks.keys(key)
    const token = await signToken(key, { sub: 'a' })
    expect((await jwtVerify(token, createRemoteJWKSet(new URL(jwks.url)))).payload['sub']).toBe('a')
    jwks.fail(503)
    expect((await get(jwks.url)).status).toBe(503)
    jwks.fail(undefined)
    const gate = jwks.hold()
    const waiting = get(jwks.url)
    await expect.poll(() => jwks.fetches).toBe(4)
    gate.open()
    expect((await waiting).json().keys[0].kid).toBe('one')
    const discovery = (await ask(`${jwks.issuer}/.well-known/openid-configuration`)).json()
    expect(discovery).toEqual({ issuer: jwks.issuer, jwks_uri: jwks.url })
  })
})

test('a manual clock moves only when told, and forward', () => {
  const clock = createManualClock(1_000)
  clock.advance(250)
  expect(clock.now()).toBe(1_250)
  expect(() => clock.advance(-1)).toThrow('back')
})
