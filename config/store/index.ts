import type { Clock, Log } from '../../plugins/host.ts'
import type { Store } from '../../plugins/store.ts'
import type { StoreConfig } from '../store.ts'
import { addressFromUrl } from './address.ts'
import { createEmbeddedStore } from './embedded.ts'

/**
 * Opens the configured store. Redis's library is loaded only where Redis is configured, and its first attempt to connect is waited for: a
 * store that cannot be reached is returned all the same, keeps trying, and says so by `up()`. Throws `config_invalid` for a URL that is none.
 */
export async function createStore(config: StoreConfig, clock: Clock, log: Log): Promise<Store> {
  if (config.kind === 'embedded') return createEmbeddedStore(clock, { values: { maxBytes: config.maxBytes } })
  for (const url of [config.url ?? [], config.sentinel?.urls ?? [], config.cluster ?? []].flat()) addressFromUrl(url)
  const [{ connectRedis }, { createRedisStore }] = await Promise.all([import('./redis.ts'), import('./redis-store.ts')])
  return createRedisStore(config, { connect: connectRedis, clock, log })
}
