import { hexDigestPattern } from './execution-context.ts'
import { layerNamePattern } from './execution-context-facts.ts'
import type { KnownPolicy } from './execution-context-open.ts'
import type { Policy } from './policy.ts'
import { createSchema, type JsonSchema, sayFault } from './schema.ts'

/** Why a step was not compiled, or only in part. There are no others. */
export const compileCodes = [
  'SCHEMA_TOO_COMPLEX',
  'INVALID_ENUM_VALUE',
  'CYCLIC_REFERENCE',
  'UNRESOLVED_REF',
  'UNSUPPORTED_KEYWORD',
  'UNSATISFIABLE',
  'GRAMMAR_TOO_LARGE',
  'PHRASE_LIMIT',
  'UNKNOWN_LAYER',
  'VERSION_MISMATCH',
  'EGRESS_DENIED',
] as const

/** A code of the closed list above. */
export type CompileCode = (typeof compileCodes)[number]

/** What became of one layer's step. `soft` is enforced in part: the gateway keeps checking. */
export interface LayerReport {
  readonly status: 'compiled' | 'soft' | 'refused'
  /** Absent exactly when compiled. */
  readonly code?: CompileCode
  /** The limit that was passed, and the value that passed it. For `UNSATISFIABLE` the value is the paths of the two that clash. */
  readonly limit?: number
  readonly value?: number | string | readonly [string, string]
  /** Path inside the step. */
  readonly path?: string
  /** A rewrite that would do. */
  readonly try?: string
  /** How long compiling took, in milliseconds. */
  readonly ms: number
}

/** The answer to a policy: what became of each of its steps. */
export interface PolicyReport {
  readonly pol: string
  readonly layers: Readonly<Record<string, LayerReport>>
}

const path: JsonSchema = { type: 'string', maxLength: 512 }
const layerReport: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['status', 'ms'],
  properties: {
    status: { enum: ['compiled', 'soft', 'refused'] },
    code: { enum: [...compileCodes] },
    limit: { type: 'number' },
    value: { type: ['number', 'string', 'array'], maxLength: 512, minItems: 2, maxItems: 2, items: path },
    path,
    try: { type: 'string', maxLength: 1_024 },
    ms: { type: 'number', minimum: 0 },
  },
  if: { properties: { status: { const: 'compiled' } } },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { not: { required: ['code'] } },
  else: {
    required: ['code'],
    if: { required: ['code'], properties: { code: { const: 'UNSATISFIABLE' } } },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { required: ['value'], properties: { value: { type: 'array' } } },
  },
}

/** The report as published and as checked. */
export const policyReportSchema: JsonSchema = {
  title: 'Policy report',
  description: 'Answer to a PUT or GET of a policy. Codes are absent exactly where a step is compiled.',
  type: 'object',
  additionalProperties: false,
  required: ['pol', 'layers'],
  properties: {
    pol: { type: 'string', pattern: hexDigestPattern },
    layers: {
      type: 'object',
      maxProperties: 16,
      propertyNames: { pattern: layerNamePattern },
      additionalProperties: layerReport,
    },
  },
}
const reports = createSchema<PolicyReport>(policyReportSchema)

/** What is wrong with a report on this policy, in words: its shape, or steps that it leaves out or adds; undefined when nothing is. */
export function reportFault(
  value: unknown,
  asked: { readonly digest: string; readonly policy: Policy },
): string | undefined {
  const [fault] = reports.faults(value)
  if (fault) return sayFault(fault)
  const { pol, layers } = value as PolicyReport
  if (pol !== asked.digest) return 'pol: another policy'
  const names = asked.policy.steps.map(({ layer }) => layer)
  const missing = names.find((name) => !Object.hasOwn(layers, name))
  if (missing !== undefined) return `layers.${missing}: is required`
  const strange = Object.keys(layers).find((name) => !names.includes(name))
  return strange === undefined ? undefined : `layers.${strange}: is not in the policy`
}

/** The policy as far as it was compiled, in whole or in part: what contexts may name. */
export function knownPolicyFrom(policy: Policy, { layers }: PolicyReport): KnownPolicy {
  const compiled = policy.steps.filter(({ layer }) => ['compiled', 'soft'].includes(layers[layer]?.status ?? 'refused'))
  return { versions: new Map(compiled.map(({ layer, version }) => [layer, version])) }
}
