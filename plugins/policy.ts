import { canonicalDigest } from './canonical.ts'
import { layerNamePattern } from './execution-context-facts.ts'
import { createSchema, type JsonSchema, sayFault } from './schema.ts'

/** One layer's rule as data, as the policy holds it. */
export interface PolicyStep {
  readonly layer: string
  /** Raised when the layer's steps mean something new. */
  readonly version: number
  /** Held to the layer's own schema by whoever executes it. */
  readonly step: Readonly<Record<string, unknown>>
}

/** The steps of every configured layer of one route, whatever its stage, outermost first. */
export interface Policy {
  readonly v: 1
  readonly route: 'chat' | 'completions' | 'messages' | 'embeddings' | 'models'
  readonly steps: readonly PolicyStep[]
}

/** A step's version, on the wire. */
export const versionSchema: JsonSchema = { type: 'integer', minimum: 1, maximum: 65_535 }

/** The policy as published and as checked. */
export const policySchema: JsonSchema = {
  title: 'Policy',
  description: 'Named by the SHA-256 of its canonical form (RFC 8785), in lower-case hex. Each layer at most once.',
  type: 'object',
  additionalProperties: false,
  required: ['v', 'route', 'steps'],
  properties: {
    v: { const: 1 },
    route: { enum: ['chat', 'completions', 'messages', 'embeddings', 'models'] },
    steps: {
      type: 'array',
      minItems: 1,
      maxItems: 16,
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['layer', 'version', 'step'],
        properties: {
          layer: { type: 'string', pattern: layerNamePattern },
          version: versionSchema,
          step: { type: 'object', description: 'By the schema of this version of the layer.' },
        },
      },
    },
  },
}
const policies = createSchema<Policy>(policySchema)

/** What is wrong with the shape of a policy, in words; undefined when nothing is. The steps' own schemas are not looked at. */
export function policyFault(value: unknown): string | undefined {
  const [fault] = policies.faults(value)
  if (fault) return sayFault(fault)
  const { steps } = value as Policy
  const twice = steps.findIndex(({ layer }, at) => steps.some((other, before) => before < at && other.layer === layer))
  return twice < 0 ? undefined : `steps[${twice}].layer: the layer stands there twice`
}

/** The digest that names a policy: SHA-256 of its canonical form (RFC 8785), in lower-case hex. */
export function policyDigest(policy: Policy): string {
  return canonicalDigest(policy)
}
