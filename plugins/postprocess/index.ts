import { defineLayer } from '../layer.ts'
import { configSchema } from './config.ts'
import { foldPostprocess, staysInGateway } from './fold.ts'
import { open } from './gateway.ts'
import { postprocessNative } from './native.ts'
import { tightenPostprocess } from './tighten.ts'

/** What leaves the building: thoughts taken out, JSON held to its schema, phrases and personal data found, answers judged. */
export const postprocess = defineLayer({
  name: 'postprocess',
  reads: ['principal'],
  writes: [],
  answers: false,
  rewrites: false,
  meters: false,
  enforces: ['response_format'],
  routes: ['chat', 'completions', 'messages'],
  config: configSchema,
  open,
  stays: staysInGateway,
  fold: foldPostprocess,
  tighten: tightenPostprocess,
  native: postprocessNative,
})
