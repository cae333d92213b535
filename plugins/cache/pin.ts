import type { ChatRequest } from '../chat.ts'
import type { Completion } from '../chunks.ts'
import type { JsonSchema } from '../schema.ts'

/** The routes that answers are kept for. */
export const cachedRoutes = ['chat', 'completions', 'messages', 'embeddings'] as const

/** One of {@link cachedRoutes}. */
export type CachedRoute = (typeof cachedRoutes)[number]

/** A curated answer: a whole request, or the values of the hash fields, and what is answered to it. */
export interface Pin {
  /** Only callers of this tenant; absent: every tenant. */
  readonly tenant?: string
  /** Default `chat`. */
  readonly route?: CachedRoute
  /** A call pins when it asks exactly this, whatever its delivery (`stream`, `user`, `metadata`). */
  readonly request?: ChatRequest
  /** A call pins when its hash fields have these values, whatever its parameters. Keys are the paths as configured. */
  readonly fields?: Readonly<Record<string, unknown>>
  /** With `fields`: only calls that name this model. */
  readonly model?: string
  /** The whole answer, or its text. */
  readonly response: Completion | string
}

/** The schema of {@link Pin}. */
export const pinSchema: JsonSchema = {
  type: 'object',
  required: ['response'],
  additionalProperties: false,
  oneOf: [{ required: ['request'] }, { required: ['fields'] }],
  properties: {
    tenant: { type: 'string', minLength: 1, description: 'Only for this tenant; absent: for every one.' },
    route: { enum: [...cachedRoutes], description: 'The route it answers on; default chat.' },
    request: {
      type: 'object',
      required: ['model'],
      properties: { model: { type: 'string', minLength: 1, description: 'The model the call names.' } },
      description: 'The request it answers.',
    },
    fields: {
      type: 'object',
      minProperties: 1,
      description: 'Values of input_hash_fields, by path, instead of a whole request.',
    },
    model: { type: 'string', minLength: 1, description: 'With fields: the model a call must name; absent: whichever.' },
    response: { type: ['object', 'string'], description: 'The whole answer as the route gives it, or only its text.' },
  },
}
