import { describe, expect, test } from 'vitest'
import { createTestHost } from '../../test/support/host.ts'
import { createCall, type Principal } from '../call.ts'
import { canonicalJson } from '../canonical.ts'
import type { FoldSource, Seat, Side } from '../host.ts'
import type { Acting } from '../layer.ts'
import type { Verdict } from '../verdict.ts'
import type { RateLimitConfig } from './config.ts'
import { rateLimit } from './index.ts'
import { createRig } from './test-rig.ts'

const native = rateLimit.native!
const source = (...declared: string[]): FoldSource => ({
  declared: new Set(declared),
  conversationHeader: 'x-conversation-id',
  file: () => Buffer.from('never read'),
  secret: (path) => path,
})
const fold = (config: object, ...declared: string[]) =>
  rateLimit.fold!(rateLimit.config.parse(config), source(...declared))
const seatOf = (side: Side): Seat => ({ ...createTestHost({ side }), allows: () => true, has: () => true })

const full = {
  limits: [
    { key_fields: ['tenant', 'user_id'], tokens_per_minute: 1000, tiers: { vip: { tokens_per_minute: 5000 } } },
    { name: 'all', key_fields: [], requests_per_minute: 60, concurrent: 5 },
  ],
  tiers: { free: { burst_capacity: 10 }, staff: { tokens_per_minute: null } },
  cutStreams: true,
  leaseMs: 5000,
}

describe('the step', () => {
  test('is the same for the same configuration, and survives JSON and its own schema', () => {
    const step = fold(full, 'user_id', 'plan')
    expect(canonicalJson(fold(full, 'plan', 'user_id'))).toBe(canonicalJson(step))
    const travelled = JSON.parse(JSON.stringify(step))
    expect(native.step.faults(travelled)).toEqual([])
    expect(native.step.parse(travelled)).toEqual(step)
    expect(travelled).toEqual(step)
  })

  test('is strict, and every member of it is there', () => {
    const step = fold(full, 'user_id')
    for (const name of Object.keys(step)) {
      const { [name as keyof typeof step]: _, ...rest } = step
      expect(native.step.faults(rest)).not.toEqual([])
    }
    expect(native.step.faults({ ...step, more: 1 })).toEqual([
      expect.objectContaining({ path: 'more', message: expect.stringContaining('unknown key') }),
    ])
  })

  test('declares the names that its key fields begin with, and no others', () => {
    expect(fold(full, 'plan', 'user_id').declared).toEqual(['user_id'])
  })

  test('names the claims that travel for it: not facts, not what the body says', () => {
    const fields = ['tenant', 'user_id', 'facts.org', 'facts.claims.team', 'body.user', 'client_ip', 'facts.method']
    const step = fold({ limits: [{ key_fields: fields, concurrent: 1 }] }, 'user_id')
    expect(native.claims?.(step)).toEqual(['user_id', 'org', 'team'])
  })

  test('a limit by what only the gateway knows of a connection stays there, in words', () => {
    const stays = (field: string) =>
      rateLimit.stays?.(rateLimit.config.parse({ limits: [{ key_fields: [field], concurrent: 1 }] }) as RateLimitConfig)
    expect(stays('facts.peer')).toContain('facts.peer')
    expect(stays('facts.peerCertificate.subject')).toContain('facts.peerCertificate')
    expect(stays('facts.user_id')).toBeUndefined()
    expect(stays('body.peer')).toBeUndefined()
  })

  test('whose asked limit names none is refused with its path', () => {
    const step = { ...fold(full, 'user_id'), asked: [{ limit: 'gone', tokens_per_minute: 1 }] }
    expect(() => native.act(step, seatOf('runner'))).toThrow(
      expect.objectContaining({ code: 'config_invalid', message: 'asked[0].limit: names no limit' }),
    )
  })
})

describe('the half at the runner', () => {
  test('says of a story of calls what the gateway says', async () => {
    const config = {
      limits: [
        { tokens_per_minute: 100, requests_per_minute: 5 },
        { key_fields: ['id'], concurrent: 2 },
      ],
    }
    const gateway = createRig(config)
    const runner = (await native.act(fold(config), seatOf('runner'))) as Acting
    const essences: unknown[] = []
    for (const words of [10, 500, 20, 10, 40, 10, 10]) {
      const call = gateway.callOf({ tenant: 'a', words })
      const said = [await gateway.acting.decide?.(call, 'enforce'), await runner.decide?.(call, 'enforce')] as Verdict[]
      const [here, there] = said.map((verdict) => canonicalJson(native.essence?.(verdict, call)))
      expect(there).toBe(here)
      essences.push(here)
    }
    expect(new Set(essences).size).toBe(3)
  })

  test('shares the counters of its side with the half that opens from the configuration', async () => {
    const config = { limits: [{ requests_per_minute: 1 }] }
    const rig = createRig(config)
    const { host } = rig
    const acting = (await native.act(fold(config), { ...host, allows: () => true, has: () => false })) as Acting
    await rig.ask({ tenant: 'a' })
    expect(await acting.decide?.(rig.callOf({ tenant: 'a' }), 'enforce')).toMatchObject({ kind: 'refuse' })
    expect(await acting.decide?.(rig.callOf({ tenant: 'b' }), 'enforce')).toMatchObject({ kind: 'pass' })
  })
})

describe('the probes', () => {
  test('are at least four, some of them refused, one for good', () => {
    const codes = native.probes.map(({ expect: { code } }) => code)
    expect(codes.length).toBeGreaterThanOrEqual(4)
    expect(new Set(codes)).toEqual(new Set([undefined, 'rate_limited', 'exceeds_rate_limit']))
  })

  test.each(native.probes)('$title', async ({ step, body, principal, reads, expect: expected }) => {
    expect(native.step.faults(step)).toEqual([])
    for (const side of ['runner', 'copy'] as const) {
      const acting = (await native.act(step, seatOf(side))) as Acting
      const caller: Principal = { id: 'probe', tenant: 'probe', tier: '', scopes: [], claims: {}, method: 'api-key' }
      const call = createCall({
        id: '0'.repeat(32),
        route: 'chat',
        now: 1_900_000_000_000,
        body: Buffer.from(JSON.stringify(body)),
        headers: {},
        facts: { client_ip: '203.0.113.7', principal: { ...caller, ...principal } },
        signal: new AbortController().signal,
      })
      const verdict = (await acting.decide?.(call, 'observe', reads)) as Verdict
      expect(verdict.kind).toBe(expected.o)
      if (verdict.kind === 'refuse') expect(verdict.error.code).toBe(expected.code)
      acting.release?.(call)
    }
  })
})
