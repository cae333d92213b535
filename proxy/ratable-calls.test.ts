import { describe, expect, it } from 'vitest'
import { createStore } from '../config/store/index.ts'
import { storeSchema } from '../config/store.ts'
import type { Store } from '../plugins/store.ts'
import { redisAvailable, startRedis } from '../test/support/redis.ts'
import type { Drawn } from './folding/collect/drawn.ts'
import { createRatableCalls, type RatableCall, type RatableHost } from './ratable-calls.ts'

const drawn: Drawn = {
  ...{ rollout: 'r1', step: 'S2', tier: 'free', arm: 'canary', unit: 'u', tenant: 't', startedAt: 1_700_000_000_000 },
}
const call: RatableCall = { id: 'c1', requestId: 'req-1', who: '["acme","ada"]', drawn }
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined }

async function storeAt(url?: string) {
  const config = storeSchema.parse(url === undefined ? { kind: 'embedded' } : { kind: 'redis', url })
  return createStore(config, { now: Date.now }, silent)
}

function at(store: Store): () => RatableHost {
  const host = { store, secret: (purpose: string) => Buffer.from(`a secret for ${purpose}`) }
  return () => host
}

describe('a call of a rollout', () => {
  it('is rated by whoever made it, by either id, and counts once', async () => {
    const store = await storeAt()
    const calls = createRatableCalls(at(store))
    calls.keep(call)
    expect(await calls.rated('c1', '["acme","bob"]')).toBeUndefined()
    expect(await calls.rated('c2', call.who)).toBeUndefined()
    expect(await calls.rated('req-1', call.who)).toEqual({ drawn, fresh: true })
    expect(await calls.rated('c1', call.who)).toEqual({ drawn, fresh: false })
    await store.close()
  })

  it.skipIf(!redisAvailable)(
    'is known at another replica with the same Redis, and counts once for all of them',
    async () => {
      await using redis = (await startRedis())!
      const stores = await Promise.all([storeAt(redis.url), storeAt(redis.url)])
      const [served, other] = stores.map((store) => createRatableCalls(at(store)))
      served!.keep(call)
      await expect.poll(() => other!.rated('req-1', '["acme","bob"]').then(() => redis.cli('DBSIZE'))).toBe('2')
      expect(await other!.rated('req-1', '["acme","bob"]')).toBeUndefined()
      expect(await other!.rated('req-1', call.who)).toEqual({ drawn, fresh: true })
      expect(await served!.rated('c1', call.who)).toEqual({ drawn, fresh: false })
      // Neither who it was nor what they call it stands there.
      const keys = (await redis.cli('KEYS', '*')).split('\n')
      const values = await Promise.all(keys.map((key) => redis.cli('GET', key)))
      expect([...keys, ...values].join(' ')).not.toMatch(/ada|acme|req-1/)
      for (const store of stores) await store.close()
    },
  )
})
