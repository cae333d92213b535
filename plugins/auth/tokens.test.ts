import { describe, expect, it } from 'vitest'
import { bearing, keyNamed, openJwksRig, tokenOf } from './test-host.ts'

const key = await keyNamed('k1')
const second = 1_700_000_000

describe('a verified token', () => {
  it('is remembered for cacheMs, and answered without a promise', async () => {
    const rig = await openJwksRig([key], { cacheMs: 2_000 })
    const token = bearing(await tokenOf(key))
    expect(rig.decide(token)).toBeInstanceOf(Promise)
    await rig.principal(token)
    rig.host.clock.advance(1_999)
    expect(rig.decide(token)).toMatchObject({ kind: 'pass', facts: { principal: { id: 'ada' } } })
    rig.host.clock.advance(1)
    expect(rig.decide(token)).toBeInstanceOf(Promise)
  })

  it('is remembered no longer than its exp', async () => {
    const rig = await openJwksRig([key], { leewayMs: 0 })
    const token = bearing(await tokenOf(key, { exp: second + 2 }))
    await rig.principal(token)
    rig.host.clock.advance(1_999)
    expect(rig.decide(token)).not.toBeInstanceOf(Promise)
    rig.host.clock.advance(1)
    expect((await rig.refusal(token)).status).toBe(401)
  })

  it('is forgotten when more tokens come than are remembered', async () => {
    const rig = await openJwksRig([key], { cacheEntries: 2 })
    const tokens = await Promise.all([1, 2, 3].map(async (jti) => bearing(await tokenOf(key, { jti }))))
    const [first, other, third] = tokens as [Record<string, string>, Record<string, string>, Record<string, string>]
    await rig.principal(first)
    await rig.principal(other)
    rig.decide(first)
    await rig.principal(third)
    expect(rig.decide(first)).not.toBeInstanceOf(Promise)
    expect(rig.decide(other)).toBeInstanceOf(Promise)
  })

  it('is not mistaken for another that differs in one character', async () => {
    const rig = await openJwksRig([key])
    const token = await tokenOf(key)
    await rig.principal(bearing(token))
    const last = token.at(-1) === 'A' ? 'Q' : 'A'
    expect((await rig.refusal(bearing(`${token.slice(0, -2)}x${last}`))).status).toBe(401)
  })

  it('leaves nothing of itself in the verdict', async () => {
    const rig = await openJwksRig([key])
    const token = await tokenOf(key)
    const said = JSON.stringify([await rig.decide(bearing(token)), rig.host.lines])
    for (const part of token.split('.')) expect(said).not.toContain(part)
  })
})
