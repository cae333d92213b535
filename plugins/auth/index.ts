import './facts.ts'
import { defineLayer } from '../layer.ts'
import { authConfig } from './config.ts'
import { declaredNames } from './declared-names.ts'
import { openAuth } from './gateway.ts'

/** Who is calling: verifies the caller's credential and writes the principal, or refuses before anything is computed. */
export const auth = defineLayer({
  name: 'auth',
  reads: [],
  writes: ['principal'],
  answers: false,
  rewrites: false,
  meters: false,
  routes: ['chat', 'completions', 'messages', 'embeddings', 'models', 'passthrough'],
  config: authConfig,
  declares: declaredNames,
  open: openAuth,
})
