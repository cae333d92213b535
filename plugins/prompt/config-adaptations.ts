import type { JsonSchema } from '../schema.ts'

/** Numbered-step requests are answered through a schema and rendered back. */
export interface StepsConfig {
  readonly enabled: boolean
  /** Further phrases that ask for steps. */
  readonly words: readonly string[]
  /** `list` writes `1.`; `words` writes `Step 1:` or `第1步：`. */
  readonly numbering: 'list' | 'words'
}

/** A tool is named first, then called. */
export interface TwoPhaseToolsConfig {
  readonly enabled: boolean
  /** Fewer tools than this are left to the model. */
  readonly minTools: number
}

/** Long instructions are repeated, or replaced, by a few short lines. */
export interface AnchorConfig {
  readonly enabled: boolean
  readonly minChars: number
  readonly maxLines: number
  readonly maxLineChars: number
  readonly place: 'first' | 'last'
  /** The whole instructions stay beside the lines. */
  readonly keep: boolean
}

/** Facts of the last turns are repeated before the last user message. */
export interface RecapConfig {
  readonly enabled: boolean
  readonly turns: number
  readonly maxFacts: number
  readonly maxFactChars: number
}

/** What helps weaker models; each is off by default. */
export interface Adaptations {
  readonly steps: StepsConfig
  readonly 'two-phase-tools': TwoPhaseToolsConfig
  readonly anchor: AnchorConfig
  readonly recap: RecapConfig
}

const number = (fallback: number, maximum: number, description: string): JsonSchema => ({
  type: 'integer',
  minimum: 1,
  maximum,
  default: fallback,
  description,
})

const adaptation = (description: string, properties: Record<string, JsonSchema>): JsonSchema => ({
  type: 'object',
  additionalProperties: false,
  default: {},
  description,
  properties: { enabled: { type: 'boolean', default: false, description: 'Whether it is on.' }, ...properties },
})

/** The shape of `adaptations`. */
export const adaptationsSchema: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  default: {},
  description: 'What helps weaker models. Each is off by default.',
  properties: {
    steps: adaptation('Requests for numbered steps are answered through a JSON schema and rendered as numbered text.', {
      words: {
        type: 'array',
        items: { type: 'string', minLength: 1, maxLength: 100 },
        default: [],
        description: 'Further phrases that ask for steps, compared without regard to case.',
      },
      numbering: {
        enum: ['list', 'words'],
        default: 'list',
        description: 'How steps are numbered: 1. or Step 1: (第1步： in Chinese).',
      },
    }),
    'two-phase-tools': adaptation('The model first names a tool, then calls it.', {
      minTools: number(2, 128, 'Calls with fewer tools are left alone.'),
    }),
    anchor: adaptation('Long instructions are repeated, or replaced, by a few short lines.', {
      minChars: number(2000, 1_000_000, 'Instructions shorter than this are left alone, in characters.'),
      maxLines: number(3, 20, 'Lines at most.'),
      maxLineChars: number(120, 500, 'Longest line, in characters.'),
      place: {
        enum: ['first', 'last'],
        default: 'last',
        description: 'Before the instructions, or before the last user message.',
      },
      keep: { type: 'boolean', default: true, description: 'Whether the whole instructions stay beside the lines.' },
    }),
    recap: adaptation('Facts of the last turns are repeated before the last user message.', {
      turns: number(3, 20, 'Turns before the last that are looked at.'),
      maxFacts: number(2, 5, 'Facts at most.'),
      maxFactChars: number(160, 500, 'Longest fact, in characters.'),
    }),
  },
}
