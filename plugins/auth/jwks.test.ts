import { afterEach, describe, expect, it, vi } from 'vitest'
import { createGate } from '../../test/support/gate.ts'
import { gatewayError } from '../errors.ts'
import { type AuthRig, bearing, jwksUrl, keyNamed, openJwksRig, publish, tokenOf } from './test-host.ts'

const one = await keyNamed('one')
const two = await keyNamed('two')
const oneAgain = { ...(await keyNamed('one-again')), kid: 'one' }
const replaced = { ...oneAgain, publicJwk: { ...oneAgain.publicJwk, kid: 'one' } }

const fetches = (rig: AuthRig): number => rig.host.sent.length
const outage = (rig: AuthRig): void => void rig.host.answers.delete(jwksUrl)
/** Lets a fetch that began in the background come to its end. */
const settled = () => new Promise((done) => setImmediate(done))

afterEach(() => {
  vi.useRealTimers()
})

describe('the key set is fetched', () => {
  it('when the first token comes, once for all that wait', async () => {
    const rig = await openJwksRig([one])
    expect(fetches(rig)).toBe(0)
    const token = bearing(await tokenOf(one))
    await Promise.all(Array.from({ length: 20 }, () => rig.principal(token)))
    expect(fetches(rig)).toBe(1)
  })

  it('anew for an unknown key id, so that a rotation is seen at once', async () => {
    const rig = await openJwksRig([one])
    await rig.principal(bearing(await tokenOf(one)))
    publish(rig.host, one, two)
    expect((await rig.principal(bearing(await tokenOf(two)))).id).toBe('ada')
    expect(fetches(rig)).toBe(2)
  })

  it('at most once a cool-off for any number of junk key ids', async () => {
    const rig = await openJwksRig([one], { coolOffMs: 1_000 })
    await rig.principal(bearing(await tokenOf(one)))
    for (let second = 0; second < 3; second++) {
      for (let i = 0; i < 50; i++) await rig.refusal(bearing(await tokenOf(two, {}, { kid: `junk-${second}-${i}` })))
      expect(fetches(rig)).toBe(2 + second)
      rig.host.clock.advance(1_000)
      await rig.principal(bearing(await tokenOf(one)))
      expect(fetches(rig)).toBe(2 + second)
    }
  })

  it('anew when a key was replaced under its id', async () => {
    const rig = await openJwksRig([one])
    await rig.principal(bearing(await tokenOf(one)))
    publish(rig.host, replaced)
    expect((await rig.principal(bearing(await tokenOf(replaced)))).id).toBe('ada')
    expect((await rig.refusal(bearing(await tokenOf(one)))).status).toBe(401)
  })

  it('not for a token that no key set could verify', async () => {
    const rig = await openJwksRig([one])
    await rig.principal(bearing(await tokenOf(one)))
    await rig.refusal(bearing('eyJhbGciOiJIUzI1NiIsImtpZCI6IngifQ.e30.AA'))
    await rig.refusal(bearing(await tokenOf(one, { exp: 1 })))
    expect(fetches(rig)).toBe(1)
  })
})

describe('a key that was removed', () => {
  it('is refused within maxAgeMs, though its token was remembered and is used all the time', async () => {
    const rig = await openJwksRig([one, two], { cacheMs: 86_400_000 })
    const token = bearing(await tokenOf(one))
    await rig.principal(token)
    publish(rig.host, two)
    const removed = rig.host.clock.now()
    let died = Number.POSITIVE_INFINITY
    for (let i = 0; i < 20 && died === Number.POSITIVE_INFINITY; i++) {
      rig.host.clock.advance(500)
      const verdict = await rig.decide(token)
      if (verdict.kind === 'refuse') died = rig.host.clock.now() - removed
      await settled()
    }
    expect(died).toBeLessThanOrEqual(5_000)
  })

  it('is refused by the first call after a long silence', async () => {
    const rig = await openJwksRig([one, two], { cacheMs: 86_400_000 })
    const token = bearing(await tokenOf(one))
    await rig.principal(token)
    publish(rig.host, two)
    rig.host.clock.advance(5_001)
    expect((await rig.refusal(token)).status).toBe(401)
  })

  it('leaves no remembered token behind that was being verified meanwhile', async () => {
    const rig = await openJwksRig([one, two])
    await rig.principal(bearing(await tokenOf(one)))
    publish(rig.host, two)
    rig.host.clock.advance(2_600)
    const token = bearing(await tokenOf(one, { jti: 'late' }))
    await rig.decide(token)
    await settled()
    expect((await rig.refusal(token)).status).toBe(401)
  })

  it('is refused when it was the only one', async () => {
    const rig = await openJwksRig([one])
    const token = bearing(await tokenOf(one))
    await rig.principal(token)
    publish(rig.host)
    rig.host.clock.advance(5_001)
    expect((await rig.refusal(token)).status).toBe(401)
  })
})

describe('a refresh', () => {
  it('keeps no call waiting while the set is young enough', async () => {
    const rig = await openJwksRig([one])
    const token = bearing(await tokenOf(one))
    await rig.principal(token)
    const gate = createGate()
    rig.host.answers.set(jwksUrl, async () => {
      await gate.opened
      return { body: Buffer.from('{"keys":[]}') }
    })
    rig.host.clock.advance(2_600)
    expect(rig.decide(token)).not.toBeInstanceOf(Promise)
    expect(fetches(rig)).toBe(2)
    gate.open()
    await settled()
    expect((await rig.refusal(token)).status).toBe(401)
  })

  it('comes by itself while calls come, and stops when they do', async () => {
    vi.useFakeTimers()
    const rig = await openJwksRig([one])
    await rig.principal(bearing(await tokenOf(one)))
    const pass = async (ms: number): Promise<void> => {
      rig.host.clock.advance(ms)
      await vi.advanceTimersByTimeAsync(ms)
    }
    for (let i = 0; i < 4; i++) await pass(2_500)
    expect(fetches(rig)).toBe(5)
    await pass(60_000)
    const quiet = fetches(rig)
    await pass(600_000)
    expect(fetches(rig)).toBe(quiet)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('stops with the configuration', async () => {
    vi.useFakeTimers()
    const rig = await openJwksRig([one])
    await rig.principal(bearing(await tokenOf(one)))
    expect(vi.getTimerCount()).toBe(1)
    rig.host.end()
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('an issuer that is out of order', () => {
  it('does not take the last good set away, and keeps nobody waiting', async () => {
    const rig = await openJwksRig([one])
    await rig.principal(bearing(await tokenOf(one)))
    outage(rig)
    rig.host.clock.advance(60_000)
    await rig.principal(bearing(await tokenOf(one)))
    const token = bearing(await tokenOf(one, { jti: 'fresh' }))
    await rig.principal(token)
    rig.host.clock.advance(600_000)
    await rig.principal(token)
    expect(rig.decide(token)).not.toBeInstanceOf(Promise)
    expect(rig.host.counts.get('auth.jwks-failed')).toBeGreaterThan(0)
    expect(rig.host.lines.filter((line) => line.level === 'warn')).toHaveLength(1)
  })

  it.each([
    ['an error page', { status: 503, body: Buffer.from('<html>') }],
    ['something that is no key set', { body: Buffer.from('{"keys":{}}') }],
    ['null', { body: Buffer.from('null') }],
    ['half a document', { body: Buffer.from('{"keys":[') }],
    ['a redirect', { status: 302, headers: { location: 'https://evil.example' } }],
  ])('%s is an outage, not an empty set', async (_what, answer) => {
    const rig = await openJwksRig([one])
    await rig.principal(bearing(await tokenOf(one)))
    rig.host.answers.set(jwksUrl, () => answer)
    rig.host.clock.advance(10_000)
    expect((await rig.principal(bearing(await tokenOf(one)))).id).toBe('ada')
  })

  it('is asked again once a cool-off, and believed when it is back', async () => {
    const rig = await openJwksRig([one], { coolOffMs: 1_000 })
    const token = bearing(await tokenOf(one))
    await rig.principal(token)
    outage(rig)
    rig.host.clock.advance(10_000)
    for (let i = 0; i < 10; i++) await rig.principal(token)
    expect(fetches(rig)).toBe(2)
    publish(rig.host, two)
    rig.host.clock.advance(1_000)
    await rig.principal(token)
    await settled()
    expect((await rig.refusal(token)).status).toBe(401)
    expect((await rig.principal(bearing(await tokenOf(two)))).id).toBe('ada')
  })

  it('before there ever was a set is a 503 that says when to come again, not a 401', async () => {
    const rig = await openJwksRig([one])
    outage(rig)
    const error = await rig.refusal(bearing(await tokenOf(one)))
    expect([error.status, error.detail.retryAfterMs]).toEqual([503, 1_000])
    expect((await rig.refusal(bearing('junk'))).status).toBe(401)
  })

  it('for longer than maxStaleMs ends the last good set, if that is configured', async () => {
    const rig = await openJwksRig([one], { maxStaleMs: 60_000 })
    const token = bearing(await tokenOf(one))
    await rig.principal(token)
    outage(rig)
    rig.host.clock.advance(60_000)
    await rig.principal(token)
    rig.host.clock.advance(1)
    expect((await rig.refusal(token)).status).toBe(503)
  })

  it('is never named with what its URL holds', async () => {
    const rig = await openJwksRig([one], { jwksUrl: `${jwksUrl}?key=hush` })
    rig.host.answers.set(`${jwksUrl}?key=hush`, () => {
      throw gatewayError('runner_timeout', 'GET https://id.example/keys?key=hush timed out')
    })
    const error = await rig.refusal(bearing(await tokenOf(one)))
    expect(JSON.stringify([rig.host.lines, error.message, error.detail, String(error.cause)])).not.toContain('hush')
  })
})
