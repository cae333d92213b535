import type { JsonSchema } from '../schema.ts'

/** The names a call can ask for. */
export const controlNames = ['concise', 'balanced', 'detailed', 'creative', 'professional'] as const

/** One of {@link controlNames}. */
export type ControlName = (typeof controlNames)[number]

/** What one name means: numbers for the sampler, and a sentence that holds length or tone. */
export interface ControlSet {
  readonly temperature?: number | null
  readonly top_p?: number | null
  readonly presence_penalty?: number | null
  readonly frequency_penalty?: number | null
  readonly max_tokens?: number | null
  readonly instruction?: string | null
}

/** Models that are controlled alike. */
export interface ControlFamily {
  /** Texts of which one must be in the model's name, without regard to case. */
  readonly match: readonly string[]
  /** Parameters that these models refuse and that are never set. */
  readonly omit: readonly string[]
  readonly lengthMember: 'max_tokens' | 'max_completion_tokens'
  readonly names: Readonly<Partial<Record<ControlName, ControlSet>>>
}

/** Named control beside numbers. */
export interface Controllability {
  readonly enabled: boolean
  /** Member of the request that holds the name; it never leaves. */
  readonly member: string
  /** Request header that holds the name when the member is absent, lower case. */
  readonly header: string
  /** What a name means here, over the built-in meaning. */
  readonly names: Readonly<Partial<Record<ControlName, ControlSet>>>
  /** Families in order; the first that matches counts, then the built-in ones. */
  readonly families: readonly ControlFamily[]
}

const numeric = (minimum: number, maximum: number, description: string): JsonSchema => ({
  type: ['number', 'null'],
  minimum,
  maximum,
  description,
})

const set: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  description: 'Over the built-in meaning. null takes a member away.',
  properties: {
    temperature: numeric(0, 2, 'Sampling temperature.'),
    top_p: numeric(0, 1, 'Nucleus sampling.'),
    presence_penalty: numeric(-2, 2, 'Penalty for words that are there already.'),
    frequency_penalty: numeric(-2, 2, 'Penalty by how often words are there already.'),
    max_tokens: { type: ['integer', 'null'], minimum: 1, description: 'Longest answer, in tokens.' },
    instruction: { type: ['string', 'null'], maxLength: 2000, description: 'Sentence added to the instructions.' },
  },
}

const names: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  default: {},
  description: 'What a name means.',
  properties: Object.fromEntries(controlNames.map((each) => [each, set])),
}

const family: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['match'],
  properties: {
    match: {
      type: 'array',
      minItems: 1,
      items: { type: 'string', minLength: 1 },
      description: "Texts of which one must be in the model's name, without regard to case.",
    },
    omit: {
      type: 'array',
      items: { enum: ['temperature', 'top_p', 'presence_penalty', 'frequency_penalty', 'max_tokens'] },
      default: [],
      description: 'Parameters that these models refuse.',
    },
    lengthMember: {
      enum: ['max_tokens', 'max_completion_tokens'],
      default: 'max_tokens',
      description: 'Member that limits the length of an answer.',
    },
    names,
  },
}

/** The shape of `controllability`. */
export const controllabilitySchema: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  default: {},
  description: 'Named control (concise, balanced, detailed, creative, professional) beside numbers.',
  properties: {
    enabled: { type: 'boolean', default: true, description: 'Whether calls may name a control.' },
    member: { type: 'string', minLength: 1, default: 'controllability', description: 'Request member with the name.' },
    header: {
      type: 'string',
      pattern: '^[a-z0-9-]+$',
      default: 'x-controllability',
      description: 'Request header with the name, where the member is absent.',
    },
    names,
    families: { type: 'array', items: family, default: [], description: 'Models that are controlled alike.' },
  },
}
