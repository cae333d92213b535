import { defineLayer } from '../layer.ts'
import { type RateLimitConfig, rateLimitConfig } from './config.ts'
import { foldRateLimit, staysRateLimit } from './fold.ts'
import { openRateLimit } from './gateway.ts'
import { rateLimitNative } from './native.ts'
import type { RateLimitStep } from './step.ts'
import { tightenRateLimit } from './tighten.ts'

/** How much a caller may: tokens and requests a minute, with bursts, and calls at once. */
export const rateLimit = defineLayer<'rate-limit', RateLimitConfig, RateLimitStep>({
  name: 'rate-limit',
  reads: ['principal', 'client_ip'],
  writes: [],
  answers: false,
  rewrites: false,
  meters: true,
  routes: ['chat', 'completions', 'messages', 'embeddings', 'models', 'passthrough'],
  config: rateLimitConfig,
  open: openRateLimit,
  stays: staysRateLimit,
  fold: foldRateLimit,
  tighten: tightenRateLimit,
  native: rateLimitNative,
})

export type { RateLimitActing } from './gateway.ts'
