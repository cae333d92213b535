import './facts.ts'
import { defineLayer } from '../layer.ts'
import { type AuthConfig, authConfig } from './config.ts'
import { declaredNames } from './declared-names.ts'
import { foldAuth, staysAuth } from './fold.ts'
import { openAuth } from './gateway.ts'
import { authNative } from './native.ts'
import type { AuthStep } from './step.ts'
import { tightenAuth } from './tighten.ts'

/** Who is calling: verifies the caller's credential and writes the principal, or refuses before anything is computed. */
export const auth = defineLayer<'auth', AuthConfig, AuthStep>({
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
  stays: staysAuth,
  fold: foldAuth,
  tighten: tightenAuth,
  native: authNative,
})
