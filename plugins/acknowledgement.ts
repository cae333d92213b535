import { hash } from 'node:crypto'
import { canonicalJson } from './canonical.ts'
import { hexDigestPattern } from './execution-context.ts'
import { layerNamePattern } from './execution-context-facts.ts'
import type { Mode } from './layer.ts'
import { versionSchema } from './policy.ts'
import type { JsonSchema } from './schema.ts'

/**
 * What came of a layer: the call passed, was answered or was refused by it; it acts on the answer that is being made (`armed`), and in the
 * end did so (`ok`) or could not (`failed`).
 */
export const outcomes = ['pass', 'answer', 'refuse', 'armed', 'ok', 'failed'] as const

/** An outcome of the closed list above. */
export type Outcome = (typeof outcomes)[number]

/** Who acknowledges, and what. */
export interface RunnerMember {
  /** Boot id of the instance. */
  readonly boot?: string
  /** Digest of its capabilities. */
  readonly caps?: string
  /** The call. */
  readonly id: string
  /** The policy that was executed. */
  readonly pol?: string
  /** Path of the first directive that was not valid. */
  readonly dir?: string
}

/** Tokens of the call, as the runner counted them. */
export interface UsageMember {
  readonly in?: number
  readonly out?: number
  /** Of `in`, those that were in the KV cache. */
  readonly cached?: number
}

/** What one layer did. */
export interface LayerMember {
  /** Version of its step. */
  readonly v?: number
  readonly m?: Mode
  readonly o?: Outcome
  /** Why it refused or failed: a code of the closed table of errors. */
  readonly code?: string
  /** How long it took, in whole microseconds. */
  readonly d?: number
  /** {@link essenceDigest} of its verdict. */
  readonly e?: string
  /** auth: the caller, its tenant and its tier. */
  readonly sub?: string
  readonly ten?: string
  readonly tier?: string
  /** rate-limit: tokens reserved, remaining and finally used, and the bucket. */
  readonly rsv?: number
  readonly rem?: number
  readonly bkt?: string
  readonly used?: number
}

/** What a runner says it did with a call. On a stream the first part says this of the start, the final part the rest. */
export interface Acknowledgement {
  readonly runner: RunnerMember
  readonly layers: Readonly<Record<string, LayerMember>>
  readonly usage?: UsageMember
}

/** The two parts, by the header or trailer that carries them. */
export const acknowledgementHeaders = { head: 'x-layer-ack', end: 'x-layer-ack-end' } as const

/** Which part of an acknowledgement. */
export type AcknowledgementPart = keyof typeof acknowledgementHeaders

/** Largest part, in bytes. */
export const maxAcknowledgementBytes = 12_288
/** Longest text in it, in UTF-16 code units; longer ones are cut. */
export const maxTextUnits = 256

const text: JsonSchema = { type: 'string', maxLength: maxTextUnits }
const whole: JsonSchema = { type: 'integer', minimum: 0, maximum: 999_999_999_999_999 }
const token: JsonSchema = { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9_.-]{0,63}$' }
const strict = (properties: Record<string, JsonSchema>, required: readonly string[] = []): JsonSchema => ({
  type: 'object',
  additionalProperties: false,
  required,
  properties,
})
const digest: JsonSchema = { type: 'string', pattern: hexDigestPattern }

/** An acknowledgement as published, in JSON: members of the dictionary with their parameters, `mac` apart, byte sequences in base64. */
export const acknowledgementSchema: JsonSchema = {
  title: 'Acknowledgement',
  description:
    'Members of the dictionaries (RFC 9651) in x-layer-ack and x-layer-ack-end; layers are members of their own there.',
  ...strict(
    {
      runner: strict(
        { boot: text, caps: digest, id: { type: 'string', pattern: '^[0-9a-f]{32}$' }, pol: digest, dir: text },
        ['id'],
      ),
      layers: {
        type: 'object',
        maxProperties: 16,
        propertyNames: { pattern: layerNamePattern },
        additionalProperties: strict({
          v: versionSchema,
          m: { enum: ['enforce', 'observe'] },
          o: { enum: [...outcomes] },
          code: token,
          d: whole,
          e: { type: 'string', pattern: '^[A-Za-z0-9+/]{21}[AQgw]==$' },
          sub: text,
          ten: text,
          tier: text,
          rsv: whole,
          rem: whole,
          bkt: text,
          used: whole,
        }),
      },
      usage: strict({ in: whole, out: whole, cached: whole }),
    },
    ['runner', 'layers'],
  ),
}

/** What shadow compares: the first 16 bytes of the SHA-256 of the canonical form (RFC 8785) of a verdict's essence, in base64. */
export function essenceDigest(essence: unknown): string {
  return hash('sha256', canonicalJson(essence), 'buffer').subarray(0, 16).toString('base64')
}

/** The whole of a streamed call's acknowledgement: the first part, with what the final one adds. */
export function mergedAcknowledgement(head: Acknowledgement, end: Acknowledgement): Acknowledgement {
  const layers: Record<string, LayerMember> = { ...head.layers }
  for (const [name, member] of Object.entries(end.layers)) layers[name] = { ...layers[name], ...member }
  const usage = end.usage ?? head.usage
  return { runner: { ...head.runner, ...end.runner }, layers, ...(usage ? { usage } : {}) }
}
