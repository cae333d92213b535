import { defineLayer } from '../layer.ts'
import { rateLimitConfig } from './config.ts'
import { openRateLimit } from './gateway.ts'

/** How much a caller may: tokens and requests a minute, with bursts, and calls at once. */
export const rateLimit = defineLayer({
  name: 'rate-limit',
  reads: ['principal', 'client_ip'],
  writes: [],
  answers: false,
  rewrites: false,
  meters: true,
  routes: ['chat', 'completions', 'messages', 'embeddings', 'models', 'passthrough'],
  config: rateLimitConfig,
  open: openRateLimit,
})
