import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { createEmbeddedStore } from '../config/store/embedded.ts'
import { ed25519Pem, pairKey, secretKey } from '../plugins/execution-context.support.ts'
import { createManualClock } from '../test/support/clock.ts'
import { createTempDir } from '../test/support/temp-dir.ts'
import { createEchoEngine } from './engines/echo.ts'
import { createMeter } from './meter.ts'
import { createSeats, type SeatParts } from './seat.ts'
import { createDerivedSecrets, createSecretsFolder } from './secrets.ts'

function parts(over: Partial<SeatParts> = {}): SeatParts {
  const clock = createManualClock()
  const quiet = () => undefined
  return {
    engine: createEchoEngine(),
    meter: createMeter(),
    clock,
    store: createEmbeddedStore(clock),
    http: { send: async () => ({ status: 200, headers: {}, body: Buffer.alloc(0) }) },
    allows: () => true,
    secrets: createSecretsFolder(undefined),
    secret: createDerivedSecrets([secretKey('k1', 1)], undefined),
    log: { info: quiet, warn: quiet, error: quiet },
    models: () => ['echo'],
    closed: new AbortController().signal,
    ...over,
  }
}
const seatOf = (side: 'runner' | 'copy', over: Partial<SeatParts> = {}) =>
  createSeats(parts(over)).seatOf(side, () => '')

describe('a seat', () => {
  it('asks its own engine, under whatever name', async () => {
    const { runners } = seatOf('runner')
    expect(runners.names.includes('gpu-a')).toBe(true)
    expect(runners.state('gpu-a')).toEqual({ available: true, retryAfterMs: 0, outstandingTokens: 0 })
    const body = { model: 'echo', messages: [{ role: 'user', content: 'are you there' }] }
    expect(await runners.ask({ runner: 'gpu-a', body, timeoutMs: 1_000 })).toBe('are you there')
    const wrong = runners.ask({ runner: 'gpu-a', body: { messages: [] }, timeoutMs: 1_000 })
    await expect(wrong).rejects.toMatchObject({ code: 'runner_error' })
    const slow = seatOf('runner', { engine: createEchoEngine({ delayMs: 1_000 }) })
    const late = slow.runners.ask({ runner: 'gpu-a', body, timeoutMs: 20 })
    await expect(late).rejects.toMatchObject({ code: 'runner_timeout' })
  })

  it('knows the models of now', () => {
    let models = ['a']
    const seat = seatOf('runner', { models: () => models })
    models = ['a', 'b']
    expect(seat.models).toEqual(['a', 'b'])
  })

  it('learns from a request once, and a copy by itself', () => {
    const { seatOf: make, learn } = createSeats(parts())
    const [runner, copy] = [make('runner', () => ''), make('copy', () => '')]
    const request = { model: 'echo', messages: [{ role: 'user', content: 'one two three four' }] }
    const before = copy.tokens.estimate(request).input
    learn('runner', request, { prompt_tokens: 400 })
    const after = runner.tokens.estimate(request).input
    runner.tokens.learn(request, { prompt_tokens: 400 })
    expect(after).toBeGreaterThan(before)
    expect([runner.tokens.estimate(request).input, copy.tokens.estimate(request).input]).toEqual([after, before])
  })

  it('counts what layers count, and a copy counts nothing and reaches nobody', async () => {
    const meter = createMeter()
    const store = createEmbeddedStore(createManualClock())
    seatOf('runner', { meter }).count('cache.hit', 2)
    const copy = seatOf('copy', { meter, store })
    copy.count('cache.hit')
    expect(meter.text(createEchoEngine().load())).toContain('foldgate_runner_layer_events_total{what="cache.hit"} 2')
    await copy.store.append('reviews', { a: '1' }, 10)
    expect(store.entries('reviews')).toEqual([])
    const posted = copy.http.send('http://h/', { method: 'POST', timeoutMs: 1 })
    await expect(posted).rejects.toMatchObject({ code: 'runner_unreachable' })
    expect((await copy.http.send('http://h/', { timeoutMs: 1 })).status).toBe(200)
  })
})

describe('secrets', () => {
  it('are read by their bare name, without the line end, and from nowhere else', async () => {
    await using dir = createTempDir()
    mkdirSync(dir.file('secrets'))
    writeFileSync(dir.file('outside'), 'x')
    writeFileSync(`${dir.file('secrets')}/token`, 'abc\n')
    symlinkSync('token', `${dir.file('secrets')}/linked`)
    const { has, file } = createSecretsFolder(dir.file('secrets'))
    expect([has('token'), has('linked'), file('token').toString()]).toEqual([true, true, 'abc'])
    for (const name of ['../outside', '..', '.', '', 'a/b', `${dir.path}/outside`, 'none', 'x'.repeat(999), 'a\0b']) {
      expect(has(name)).toBe(false)
      expect(() => file(name)).toThrow(/^secret /)
    }
    expect(() => file('none')).not.toThrow(dir.path)
    expect(createSecretsFolder(undefined).has('token')).toBe(false)
  })

  it('of this side hang on the shared key, else on the private one, and on the purpose', () => {
    const one = createDerivedSecrets([pairKey('p1', 3), secretKey('k1', 1)], undefined)
    expect(one('a')).toEqual(createDerivedSecrets([secretKey('k2', 1)], ed25519Pem(5))('a'))
    expect(one('b')).not.toEqual(one('a'))
    const own = createDerivedSecrets([pairKey('p1', 3)], ed25519Pem(5))
    expect(own('a')).toHaveLength(32)
    expect(own('a')).toEqual(createDerivedSecrets([pairKey('p1', 4)], ed25519Pem(5))('a'))
    expect(own('a')).not.toEqual(createDerivedSecrets([pairKey('p1', 3)], ed25519Pem(6))('a'))
  })
})
