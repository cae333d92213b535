import { auth } from './auth/index.ts'
import { routing } from './routing/index.ts'

/** Every layer, in the order a request meets them. */
export const layers = [auth, routing] as const
