import { parseList } from 'structured-headers'
import { describe, expect, test } from 'vitest'
import { answerTo, chat, completion, createRig, jsonReply } from './test-rig.ts'

describe('a hit', () => {
  test('is answered without the runner, says so, and counts its age and what is left', async () => {
    const rig = createRig({ ttl_seconds: 60 })
    const first = await rig.ask(chat('hi'))
    expect(first).toMatchObject({ status: 'Foldgate;fwd=miss', source: 'runner' })
    rig.host.clock.advance(10_500)
    const second = await rig.ask(chat('hi'))
    expect(second).toMatchObject({ status: 'Foldgate;hit;ttl=49', source: 'cache', headers: { age: '10' } })
    expect(JSON.parse(second.text)).toEqual(JSON.parse(first.text))
    expect(rig.reached).toHaveLength(1)
    expect(Object.fromEntries(rig.host.counts)).toEqual({ 'cache.miss': 1, 'cache.stored': 1, 'cache.hit': 1 })
  })

  test('is over when its time is over, to the millisecond', async () => {
    const rig = createRig({ ttl_seconds: 60 })
    await rig.ask(chat('hi'))
    rig.host.clock.advance(59_999)
    expect((await rig.ask(chat('hi'))).source).toBe('cache')
    rig.host.clock.advance(1)
    expect((await rig.ask(chat('hi'))).source).toBe('runner')
  })

  test('is decided without waiting for anything', async () => {
    const rig = createRig()
    await rig.ask(chat('hi'))
    const reply = await rig.open(chat('hi'))
    const { acting } = rig
    const verdict = acting.decide?.(rig.reached[0] as never, 'enforce')
    expect(verdict).not.toBeInstanceOf(Promise)
    expect(verdict).toMatchObject({ kind: 'answer' })
    expect(reply.source).toBe('cache')
  })

  test('comes from the store when a new configuration opens the layer', async () => {
    const rig = createRig()
    await rig.ask(chat('hi'))
    const next = createRig({}, { store: rig.host.store })
    expect((await next.ask(chat('hi'))).source).toBe('cache')
  })

  test('of a longer life than is configured now lives as long as is configured now', async () => {
    const rig = createRig({ ttl_seconds: 300 })
    await rig.ask(chat('hi'))
    const next = createRig({ ttl_seconds: 5 }, { store: rig.host.store, clock: rig.host.clock })
    rig.host.clock.advance(4_000)
    expect((await next.ask(chat('hi'))).status).toBe('Foldgate;hit;ttl=1')
    rig.host.clock.advance(1_000)
    expect((await next.ask(chat('hi'))).source).toBe('runner')
  })
})

describe('who shares', () => {
  // B01
  test('a tenant never gets what was made for another, whatever namespace it sends', async () => {
    const rig = createRig()
    await rig.ask(chat('hi'), { tenant: 'a' })
    const headers = { 'x-cache-namespace': 'a', 'x-cache-key': 'a', 'cache-status': 'Foldgate;hit', 'x-tenant': 'a' }
    for (const tenant of ['b', null, '']) {
      expect(await rig.ask(chat('hi'), { tenant, headers })).toMatchObject({ source: 'runner' })
    }
    expect((await rig.ask(chat('hi'), { tenant: 'a' })).source).toBe('cache')
    expect(rig.reached).toHaveLength(4)
  })

  // B11
  test('another prompt inside is another answer, and the old one is still there for who pins it', async () => {
    let version = '1'
    const rig = createRig({}, { insideDigest: () => `digest of ${version}` })
    await rig.ask(chat('hi'))
    version = '2'
    expect((await rig.ask(chat('hi'))).source).toBe('runner')
    version = '1'
    expect((await rig.ask(chat('hi'))).source).toBe('cache')
  })

  test('an entry whose full digest does not match is not an answer', async () => {
    const rig = createRig()
    await rig.ask(chat('hi'))
    const { store } = rig.host
    // As if the 64 bits of the index had met: every key has the same bytes.
    const kept = await findEntry(rig.host.store)
    const next = createRig({}, { store: { ...store, get: async () => kept } as never })
    expect((await next.ask(chat('hi'))).source).toBe('cache')
    expect((await next.ask(chat('other'))).source).toBe('runner')
  })
})

describe('what is not cached', () => {
  test('a call without a listed field, which is named and counted', async () => {
    const rig = createRig({ input_hash_fields: ['messages[3].content'] })
    const got = await rig.ask(chat('hi'))
    expect(got.status).toBe('Foldgate;fwd=bypass;detail=hash-field-absent')
    expect(String(parseList(got.status)[0]?.[1].get('detail'))).toBe('hash-field-absent')
    expect((await rig.ask(chat('hi'))).source).toBe('runner')
    expect(rig.host.counts.get('cache.hash-field-absent')).toBe(2)
    expect(rig.reached[0]?.facts.cacheKey).toEqual({ reason: 'hash-field-absent' })
  })

  // B04
  test.each([
    [{}, false],
    [{ temperature: 1 }, false],
    [{ temperature: null }, false],
    [{ seed: null }, false],
    [{ temperature: 0 }, true],
    [{ temperature: 1, seed: 7 }, true],
  ])('under the deterministic strategy %j: cached is %s', async (more, cached) => {
    const rig = createRig({ cache_strategy: 'deterministic' })
    await rig.ask(chat('hi', more))
    const second = await rig.ask(chat('hi', more))
    expect(second.source).toBe(cached ? 'cache' : 'runner')
    if (!cached) expect(second.status).toBe('Foldgate;fwd=bypass;detail=not-deterministic')
  })

  test('anything at a time to live of 0, and what inside must not be kept', async () => {
    const zero = createRig({ ttl_seconds: 0 })
    await zero.ask(chat('hi'))
    expect((await zero.ask(chat('hi'))).status).toBe('Foldgate;fwd=bypass;detail=ttl-zero')
    const clocked = createRig({}, { insideDigest: () => undefined })
    await clocked.ask(chat('hi'))
    expect((await clocked.ask(chat('hi'))).status).toBe('Foldgate;fwd=bypass;detail=inside-not-cacheable')
  })
})

describe('what a caller may say', () => {
  const refreshes: Record<string, string>[] = [
    { 'cache-control': 'no-cache' },
    { 'x-cache-hint': 'refresh' },
    { 'cache-control': 'max-age=0' },
  ]
  test.each(refreshes)('%j asks anew and stores', async (headers) => {
    const rig = createRig()
    await rig.ask(chat('hi'))
    rig.runner = async (call) => answerTo(call, completion('new'))
    expect(await rig.ask(chat('hi'), { headers })).toMatchObject({ source: 'runner', status: 'Foldgate;fwd=request' })
    expect((await rig.ask(chat('hi'))).text).toContain('new')
    expect(rig.reached).toHaveLength(2)
  })

  const bypasses: Record<string, string>[] = [{ 'cache-control': 'private, No-Store' }, { 'x-cache-hint': 'bypass' }]
  test.each(bypasses)('%j neither reads nor stores', async (headers) => {
    const rig = createRig()
    await rig.ask(chat('hi'), { headers })
    expect((await rig.ask(chat('hi'))).source).toBe('runner')
    expect(await rig.ask(chat('hi'), { headers })).toMatchObject({
      source: 'runner',
      status: 'Foldgate;fwd=bypass;detail=asked',
    })
  })

  test('max-age takes only answers that are young enough', async () => {
    const rig = createRig()
    await rig.ask(chat('hi'))
    rig.host.clock.advance(5_000)
    expect((await rig.ask(chat('hi'), { headers: { 'cache-control': 'max-age=5' } })).source).toBe('cache')
    expect((await rig.ask(chat('hi'), { headers: { 'cache-control': 'max-age=4' } })).source).toBe('runner')
    expect((await rig.ask(chat('hi'))).headers['age']).toBe('0')
  })

  test('only-if-cached is answered from the cache or with 504, and never by a model', async () => {
    const rig = createRig()
    const headers = { 'x-cache-hint': 'only-if-cached' }
    await expect(rig.ask(chat('hi'), { headers })).rejects.toMatchObject({ status: 504 })
    expect(rig.reached).toHaveLength(0)
    await rig.ask(chat('hi'))
    expect((await rig.ask(chat('hi'), { headers })).source).toBe('cache')
  })

  test('nothing, where callers have no say', async () => {
    const rig = createRig({ clientHints: false })
    await rig.ask(chat('hi'))
    expect((await rig.ask(chat('hi'), { headers: { 'cache-control': 'no-store' } })).source).toBe('cache')
  })
})

test('Cache-Status stands behind those of caches further in, also on an error of the runner', async () => {
  const rig = createRig()
  rig.runner = async () => jsonReply({ error: {} }, 500).with({ headers: { 'cache-status': 'Inner;fwd=miss' } })
  expect((await rig.ask(chat('hi'))).status).toBe('Inner;fwd=miss, Foldgate;fwd=miss')
})

test('a body that is not JSON is refused, not cached', async () => {
  await expect(createRig().ask('{' as never)).rejects.toMatchObject({ code: 'invalid_json' })
})

async function findEntry(store: { get(key: string): Promise<Buffer | undefined> }): Promise<Buffer | undefined> {
  let found: Buffer | undefined
  const probe = createRig(
    {},
    {
      store: {
        ...(store as object),
        kind: 'embedded',
        up: () => true,
        set: async () => {},
        get: async (key: string) => {
          const bytes = await store.get(key)
          if (key.startsWith('cache:gw:e:')) found = bytes
          return bytes
        },
      } as never,
    },
  )
  await probe.ask(chat('hi'))
  return found
}
