import type { JsonSchema } from './schema.ts'

/**
 * What a client may ask in the body member `execution_context`. Each layer reads its own members in `tighten` and checks them: here only the
 * outline is known.
 */
export interface Directives {
  readonly routing?: Readonly<Record<string, unknown>>
  readonly cache?: Readonly<Record<string, unknown>>
  readonly system_prompt?: Readonly<Record<string, unknown>>
  readonly output_constraints?: Readonly<Record<string, unknown>>
  readonly auth?: Readonly<Record<string, unknown>>
  readonly rate_limit?: Readonly<Record<string, unknown>>
  readonly safety?: readonly unknown[]
  readonly custom_safety_rules?: readonly unknown[]
  readonly post_processing_hooks?: readonly unknown[]
  readonly debug_force_fallback?: boolean
}

const object: JsonSchema = { type: 'object', maxProperties: 64 }
const list: JsonSchema = { type: 'array', maxItems: 64 }

/** The outline of the directives, as published. */
export const directivesSchema: JsonSchema = {
  title: 'Directives',
  description: 'The body member execution_context of a request: what a client may ask. Only ever tightens.',
  type: 'object',
  additionalProperties: false,
  properties: {
    routing: object,
    cache: object,
    system_prompt: object,
    output_constraints: object,
    auth: object,
    rate_limit: object,
    safety: list,
    custom_safety_rules: list,
    post_processing_hooks: list,
    debug_force_fallback: { type: 'boolean' },
  },
}
