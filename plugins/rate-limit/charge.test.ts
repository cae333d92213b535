import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { mostDelayMs } from './charge.ts'
import { createRig } from './test-rig.ts'

const perMinute = (tokens: number, more: object = {}): object => ({
  limits: [{ key_fields: ['tenant'], tokens_per_minute: tokens, ...more }],
})

describe('what was used elsewhere', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
  afterEach(() => void vi.useRealTimers())

  test('is posted in one step for all the calls of 100 ms, and at the instant of the last one', async () => {
    const rig = createRig(perMinute(1_000, { requests_per_minute: 100 }))
    const run = vi.spyOn(rig.host.store, 'run')
    for (let call = 0; call < 50; call++) rig.acting.charge?.(rig.callOf({ tenant: 'a' }), 3)
    expect(run).not.toHaveBeenCalled()
    vi.advanceTimersByTime(mostDelayMs)
    expect(run).toHaveBeenCalledTimes(1)
    const now = rig.host.clock.now()
    expect(run.mock.calls[0]?.[2]).toEqual([now, 'b', 1_000, 0, 150, now, 'b', 100, 0, 50, now])
    vi.advanceTimersByTime(10 * mostDelayMs)
    expect(run).toHaveBeenCalledTimes(1)
  })

  test('stands before every decision, in whatever mode', async () => {
    const rig = createRig(perMinute(100))
    rig.acting.charge?.(rig.callOf({ tenant: 'a' }), 95)
    expect(await rig.acting.decide?.(rig.callOf({ tenant: 'a' }), 'enforce')).toMatchObject({ kind: 'refuse' })
    rig.acting.charge?.(rig.callOf({ tenant: 'b' }), 95)
    expect(await rig.acting.decide?.(rig.callOf({ tenant: 'b' }), 'observe')).toMatchObject({ kind: 'refuse' })
    expect(await rig.acting.decide?.(rig.callOf({ tenant: 'c' }), 'enforce')).toMatchObject({ kind: 'pass' })
  })

  test('decays from when it was used, however late the next decision comes', async () => {
    const rig = createRig(perMinute(60))
    rig.acting.charge?.(rig.callOf({ tenant: 'a' }), 60)
    rig.host.clock.advance(30_000)
    rig.acting.charge?.(rig.callOf({ tenant: 'a' }), 1)
    const call = rig.callOf({ tenant: 'a' })
    await rig.acting.decide?.(call, 'observe')
    expect(rig.acting.reads?.(call)).toMatchObject({ q0: 31 * 60_000 })
  })

  test('is summed by caller: tier, route and key fields, whatever is in them', async () => {
    const rig = createRig({ ...perMinute(1_000), limits: [{ key_fields: ['tenant', 'id'], tokens_per_minute: 1_000 }] })
    const run = vi.spyOn(rig.host.store, 'run')
    const charged = [
      rig.callOf({ tenant: 'a' }),
      rig.callOf({ tenant: 'a', route: 'embeddings' }),
      rig.callOf({ tenant: 'a 1:b' }),
      rig.callOf(),
      rig.callOf({ tenant: 'a' }),
    ]
    for (const call of charged) rig.acting.charge?.(call, 1)
    await rig.acting.close?.()
    const used = run.mock.calls.map(([, keys, args]) => [keys.length, args[4]])
    expect(used.toSorted()).toEqual([
      [1, 1],
      [1, 1],
      [1, 3],
    ])
  })

  test('waits no longer once the configuration has ended', () => {
    const rig = createRig(perMinute(100))
    const run = vi.spyOn(rig.host.store, 'run')
    rig.acting.charge?.(rig.callOf({ tenant: 'a' }), 1)
    rig.host.end()
    expect(run).toHaveBeenCalledTimes(1)
    rig.acting.charge?.(rig.callOf({ tenant: 'a' }), 1)
    expect(run).toHaveBeenCalledTimes(2)
  })

  test('of a call whose body cannot be read is said and fails nothing', async () => {
    const rig = createRig({ limits: [{ key_fields: ['body.model'], requests_per_minute: 1_000 }] })
    rig.acting.charge?.(rig.callOf({ body: Buffer.from('{') }), 1)
    await rig.acting.close?.()
    expect(rig.host.lines).toMatchObject([{ level: 'warn', fields: { code: 'invalid_json' } }])
  })
})
