import type { Mode } from './layer.ts'
import type { Target } from './reply.ts'
import type { JsonSchema } from './schema.ts'

/** A value of a claim: JSON, at most three levels. */
export type ClaimValue =
  | string
  | number
  | boolean
  | null
  | readonly ClaimValue[]
  | { readonly [name: string]: ClaimValue }

/** What the folded steps read or name of what is known about a call; nothing else travels. */
export interface ContextFacts {
  /** Address of the caller. */
  readonly client_ip?: string
  /** Id of the caller inside its tenant. */
  readonly id?: string
  readonly tenant?: string
  readonly tier?: string
  readonly scopes?: readonly string[]
  /** How the caller was recognised. */
  readonly method?: string
  /** The caller's claims by name, apart from the facts so that none can pass for a fact. */
  readonly claims?: Readonly<Record<string, ClaimValue>>
  /** Where the call may be answered, best first. */
  readonly target?: readonly Target[]
  /** Facts of further layers, under their own names. */
  readonly [name: string]: ClaimValue | readonly Target[] | undefined
}

/** The mutable values that the enforcing side read, for one layer: a bucket's level, a set's size. */
export type LayerReads = Readonly<Record<string, string | number | boolean | readonly (string | number)[]>>

/** Which named layer decides and which only says; in the order of the route, outermost first. */
export type ContextModes = Readonly<Record<string, Mode>>

/** Most bytes of `reads`, as compact JSON. */
export const maxReadsBytes = 512

/** A layer's name on the wire. */
export const layerNamePattern = '^[a-z][a-z0-9-]{0,31}$'

const text = (maxLength: number): JsonSchema => ({ type: 'string', maxLength })
const scalar: JsonSchema = { type: ['string', 'number', 'boolean', 'null'], maxLength: 1_024 }
const nested = (inner: JsonSchema): JsonSchema => ({
  type: ['string', 'number', 'boolean', 'null', 'array', 'object'],
  maxLength: 1_024,
  maxItems: 64,
  items: inner,
  maxProperties: 32,
  propertyNames: { maxLength: 128 },
  additionalProperties: inner,
})
const claimValue = nested(nested(scalar))

/** The facts as published. */
export const factsSchema: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  maxProperties: 32,
  properties: {
    client_ip: { type: 'string', minLength: 2, maxLength: 45 },
    id: text(256),
    tenant: text(256),
    tier: text(64),
    scopes: { type: 'array', maxItems: 128, items: text(128) },
    method: { type: 'string', pattern: '^[a-z][a-z-]{0,31}$' },
    claims: {
      type: 'object',
      maxProperties: 64,
      propertyNames: { minLength: 1, maxLength: 128, pattern: '^(?!__proto__$)' },
      additionalProperties: claimValue,
    },
    target: {
      type: 'array',
      maxItems: 16,
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['runner', 'model'],
        properties: { runner: text(128), model: text(512) },
      },
    },
  },
  patternProperties: {
    '^(?!(client_ip|id|tenant|tier|scopes|method|claims|target)$)[a-z][A-Za-z0-9_]{0,63}$': claimValue,
  },
}

/** The modes as published. */
export const modesSchema: JsonSchema = {
  type: 'object',
  description: 'The layers that act for this call, in the order of the route, outermost first.',
  minProperties: 1,
  maxProperties: 16,
  propertyNames: { pattern: layerNamePattern },
  additionalProperties: { enum: ['enforce', 'observe'] },
}

/** The reads as published. */
export const readsSchema: JsonSchema = {
  type: 'object',
  description: `Only for layers in observe; at most ${maxReadsBytes} bytes as compact JSON.`,
  maxProperties: 16,
  propertyNames: { pattern: layerNamePattern },
  additionalProperties: {
    type: 'object',
    maxProperties: 32,
    propertyNames: { pattern: '^[A-Za-z0-9_.:-]{1,64}$' },
    additionalProperties: {
      type: ['string', 'number', 'boolean', 'array'],
      maxLength: 128,
      maxItems: 32,
      items: { type: ['string', 'number'], maxLength: 128 },
    },
  },
}
