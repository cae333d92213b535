import { createSchema, type JsonSchema, type Schema } from '../schema.ts'

/** One runner on one model, and which calls it may get. */
export interface TargetRule {
  /** Name of a runner of the configuration. */
  readonly runner: string
  /** The model it is asked for; calls may name it too. */
  readonly model: string
  /** Share of the token budget, relative to the others that serve the same name. 0: never. */
  readonly weight: number
  /** Further model names under which calls reach it; targets with the same alias share its calls by weight. */
  readonly aliases: readonly string[]
  /** It gets a call only when its share of the call's budget (prompt + output, in tokens) reaches this. */
  readonly min_tokens: number
  /** Shortest prompt it gets, in tokens. */
  readonly min_input_length: number
  /** Longest prompt it gets, in tokens; null: no bound. */
  readonly max_input_length: number | null
  /** How large its model is beside the others, such as billions of parameters. */
  readonly size: number
  /** Tiers that may use it; null: all. */
  readonly tiers: readonly string[] | null
  /** Weights for single tiers, in place of `weight`. */
  readonly tier_weights: Readonly<Record<string, number>>
  /** Weight that a caller's directives gave it, in place of its own where that is above 0. Never in a configuration. */
  readonly asked?: number
}

/** Whether and how far a conversation stays with the target that has its prefix in its KV cache. */
export interface AffinityRule {
  readonly enabled: boolean
  /** Without a conversation header, the opening messages name the conversation when they have at least this many characters. */
  readonly minPrefixChars: number
  /** Conversations that are remembered; the longest unused is forgotten first. */
  readonly maxEntries: number
  /** How far above its share a target may go for the sake of a conversation, in tokens of one tenant. */
  readonly overdraftTokens: number
}

/** The settings of routing. */
export interface RoutingConfig {
  readonly targets: readonly TargetRule[]
  /** The model name under which a call reaches every target; null: there is none. */
  readonly default: string | null
  /** How long an unused share is remembered, as the time constant of its fading, in milliseconds. */
  readonly lendWindowMs: number
  /** Tenants whose counters are kept; the longest unused restarts at the configured shares. */
  readonly maxTenants: number
  readonly affinity: AffinityRule
}

const name: JsonSchema = { type: 'string', minLength: 1, maxLength: 512 }
const weight: JsonSchema = { type: 'number', minimum: 0, maximum: 1e9 }
const tokens: JsonSchema = { type: 'integer', minimum: 0, default: 0 }

const target: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['runner', 'model'],
  properties: {
    runner: { ...name, description: 'Name of a runner of this configuration.' },
    model: { ...name, description: 'Model the runner is asked for. Calls may name it too.' },
    weight: { ...weight, default: 1, description: 'Share of the token budget, relative to the others. 0: never.' },
    aliases: {
      type: 'array',
      items: name,
      default: [],
      description: 'Further model names under which calls reach this target; targets with one alias share its calls.',
    },
    min_tokens: {
      ...tokens,
      description: "Tokens that this target's share of a call's budget (prompt + max_tokens) must reach.",
    },
    min_input_length: { ...tokens, description: 'Shortest prompt this target gets, in tokens.' },
    max_input_length: {
      type: ['integer', 'null'],
      minimum: 1,
      default: null,
      description: 'Longest prompt this target gets, in tokens. null: no bound.',
    },
    size: {
      type: 'number',
      minimum: 0,
      default: 0,
      description:
        'How large the model is beside the others, such as billions of parameters: the largest gets the repeat of an answer whose quality was too low.',
    },
    tiers: {
      type: ['array', 'null'],
      items: name,
      default: null,
      description: 'Tiers that may use this target. null: all.',
    },
    tier_weights: {
      type: 'object',
      additionalProperties: weight,
      default: {},
      description: 'Weight for single tiers, in place of weight. 0: never for that tier.',
    },
  },
}

const affinity: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  default: {},
  description: 'Keeps a conversation on the target that has its prefix in its KV cache, as far as shares allow.',
  properties: {
    enabled: { type: 'boolean', default: true, description: 'Whether conversations stay with their target.' },
    minPrefixChars: {
      type: 'integer',
      minimum: 1,
      default: 256,
      description: 'Characters of the opening messages from which on they name a conversation that has no header.',
    },
    maxEntries: { type: 'integer', minimum: 1, default: 10_000, description: 'Conversations that are remembered.' },
    overdraftTokens: {
      type: 'integer',
      minimum: 0,
      default: 16_384,
      description: 'Tokens by which a target may exceed its share of one tenant to keep a conversation.',
    },
  },
}

/** The shape of the section `layers.routing`. */
export const routingConfig: Schema<RoutingConfig> = createSchema<RoutingConfig>({
  type: 'object',
  additionalProperties: false,
  required: ['targets'],
  description: 'Which model and runner answers: shares of the token budget, with limits by length and tier.',
  properties: {
    targets: { type: 'array', minItems: 1, maxItems: 256, items: target, description: 'What calls are shared among.' },
    default: {
      type: ['string', 'null'],
      minLength: 1,
      default: 'auto',
      description: 'Model name under which a call reaches every target. null: none.',
    },
    lendWindowMs: {
      type: 'integer',
      minimum: 1000,
      default: 60_000,
      description: 'How long a share that was not used is remembered, in milliseconds.',
    },
    maxTenants: { type: 'integer', minimum: 1, default: 10_000, description: 'Tenants whose counters are kept.' },
    affinity,
  },
})
