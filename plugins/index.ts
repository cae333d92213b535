import { auth } from './auth/index.ts'
import { cache } from './cache/index.ts'
import { postprocess } from './postprocess/index.ts'
import { prompt } from './prompt/index.ts'
import { rateLimit } from './rate-limit/index.ts'
import { routing } from './routing/index.ts'

/** Every layer, in the order a request meets them. */
export const layers = [auth, rateLimit, cache, routing, prompt, postprocess] as const
