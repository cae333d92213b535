import type { JsonSchema } from '../schema.ts'

/** Who writes summaries, and how long they may take and be. */
export interface SummaryConfig {
  readonly runner: string
  readonly model: string
  readonly maxTokens: number
  readonly timeoutMs: number
  readonly maxInputChars: number
  readonly maxEntries: number
}

/** How a conversation is made to fit its model. */
export interface ContextConfig {
  /** Context of a model that `modelTokens` does not name, in tokens; null: such a model's calls are not fitted. */
  readonly maxTokens: number | null
  readonly modelTokens: Readonly<Record<string, number>>
  /** Turns that stay whole as long as anything older can go. */
  readonly keepTurns: number
  readonly strategy: 'drop' | 'summarise'
  /** Tokens kept free for the answer when the call does not say how many it wants. */
  readonly reserveOutput: number
  /** Turns are dropped in multiples of this, so that the same prefix serves several calls. */
  readonly strideTurns: number
  readonly cutMessages: boolean
  readonly summary: SummaryConfig | null
}

const tokens: JsonSchema = { type: 'integer', minimum: 1 }

const summary: JsonSchema = {
  type: ['object', 'null'],
  additionalProperties: false,
  required: ['runner', 'model'],
  default: null,
  description: 'Who writes summaries. Needed by strategy summarise.',
  properties: {
    runner: { type: 'string', minLength: 1, description: 'Name of a runner of this configuration.' },
    model: { type: 'string', minLength: 1, description: 'Model that summarises.' },
    maxTokens: { ...tokens, default: 200, description: 'Longest summary, in tokens.' },
    timeoutMs: {
      ...tokens,
      default: 5000,
      description: 'Longest wait for a summary, in milliseconds; then it is dropped.',
    },
    maxInputChars: {
      ...tokens,
      default: 32_000,
      description: 'Characters of the conversation that are summarised; the latest.',
    },
    maxEntries: { ...tokens, default: 1000, description: 'Summaries that are remembered in this process.' },
  },
}

/** The shape of `context`. */
export const contextSchema: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  default: {},
  description: 'How a conversation is made to fit its model.',
  properties: {
    maxTokens: {
      ...tokens,
      type: ['integer', 'null'],
      default: null,
      description: 'Context of a model that modelTokens does not name, in tokens. null: its calls are not fitted.',
    },
    modelTokens: {
      type: 'object',
      additionalProperties: tokens,
      default: {},
      description: 'Context by model, in tokens.',
    },
    keepTurns: { ...tokens, default: 10, description: 'Latest turns that stay whole while anything older can go.' },
    strategy: {
      enum: ['drop', 'summarise'],
      default: 'drop',
      description: 'What becomes of the oldest turns: dropped, or told in a summary.',
    },
    reserveOutput: {
      type: 'integer',
      minimum: 0,
      default: 512,
      description: 'Tokens kept free for the answer when the call does not say how many it wants.',
    },
    strideTurns: {
      ...tokens,
      default: 1,
      description:
        'Turns are dropped in multiples of this, so that one prefix stays in the KV cache for several calls.',
    },
    cutMessages: {
      type: 'boolean',
      default: false,
      description: 'Cuts the longest messages in their middle when nothing more can be dropped.',
    },
    summary,
  },
}
