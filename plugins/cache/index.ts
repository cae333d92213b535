import { defineLayer } from '../layer.ts'
import { cacheConfig } from './config.ts'
import { openCache } from './gateway.ts'
import { cachedRoutes } from './pin.ts'
import type { CacheKey } from './rule.ts'

declare module '../call.ts' {
  interface Facts {
    /** The digest that names this call's answer, or why it has none. Written by cache. */
    cacheKey: CacheKey
    /** Set for the one repeat of an answer whose score was too low: the largest eligible target is to answer. Written by cache. */
    largest: boolean
  }
}

/** Whether it was answered before. */
export const cache = defineLayer({
  name: 'cache',
  reads: ['principal'],
  writes: ['cacheKey', 'largest'],
  answers: true,
  rewrites: false,
  meters: true,
  routes: cachedRoutes,
  config: cacheConfig,
  open: openCache,
})

export type { CacheActing } from './gateway.ts'
export type { PurgeScope } from './purges.ts'
export { warnings } from './warnings.ts'
