import { defineLayer } from '../layer.ts'
import { type CacheConfig, cacheConfig } from './config.ts'
import { fold, stays } from './fold.ts'
import { openCache } from './gateway.ts'
import { native } from './native.ts'
import { cachedRoutes } from './pin.ts'
import type { ToldPurge } from './purges.ts'
import type { CacheKey } from './rule.ts'
import type { CacheStep } from './step.ts'
import { tighten } from './tighten.ts'
import { warnings } from './warnings.ts'

declare module '../call.ts' {
  interface Facts {
    /** The digest that names this call's answer, or why it has none. Written by cache. */
    cacheKey: CacheKey
    /** What was purged on the other side, and is to be passed over here. Written by the server. */
    purged: readonly ToldPurge[]
    /** Set for the one repeat of an answer whose score was too low: the largest eligible target is to answer. Written by cache. */
    largest: boolean
  }
}

/** Whether it was answered before. */
export const cache = defineLayer<'cache', CacheConfig, CacheStep>({
  name: 'cache',
  reads: ['principal'],
  writes: ['cacheKey', 'largest'],
  answers: true,
  rewrites: false,
  meters: true,
  routes: cachedRoutes,
  config: cacheConfig,
  warnings,
  open: openCache,
  stays,
  fold,
  tighten,
  native,
})

export type { CacheActing } from './gateway.ts'
export type { PurgeScope } from './purges.ts'
