import { completeSchema } from '../complete-schema.ts'
import { createSchema, type JsonSchema, type Schema } from '../schema.ts'
import { type Asked, askedLimits } from './asked.ts'
import { type Config, configSchema } from './config.ts'

/** The settings of postprocess as they travel: no header goes with a judge, and files with tokens are named by their bare names. */
export interface PostprocessStep extends Config {
  /** Names that paths resolve in facts only, sorted. */
  readonly declared: readonly string[]
  /** What a caller's directives add. */
  readonly asked?: Asked
}

// What holds a credential stays where it is.
const travelling: Readonly<Record<string, JsonSchema>> = {
  headers: { type: 'object', maxProperties: 0 },
  tokenFile: { type: ['string', 'null'], pattern: '^[^/\\\\]{1,255}$', description: 'Bare name of a secret file' },
}

const settings = configSchema.json['properties'] as Readonly<Record<string, JsonSchema>>
const phrases = (maxItems: number): JsonSchema => ({
  type: 'array',
  maxItems,
  items: { type: 'string', minLength: 1, maxLength: askedLimits.phrase },
})

/** The shape of what a caller adds, member by member. */
export const askedShapes = {
  schema: { type: 'object' },
  required_phrases: phrases(askedLimits.required),
  forbidden_phrases: phrases(askedLimits.forbidden),
  min_output_length: { type: 'integer', minimum: 0, maximum: askedLimits.length },
  safety: { ...completeSchema(settings['safety'] as JsonSchema, travelling), maxItems: askedLimits.safety },
  custom_safety_rules: {
    type: 'array',
    maxItems: askedLimits.rules,
    items: {
      type: 'object',
      additionalProperties: false,
      required: ['id', 'trigger_phrases', 'action'],
      properties: {
        id: { type: 'string', pattern: '^[A-Za-z0-9_.:-]{1,64}$' },
        trigger_phrases: { ...phrases(askedLimits.triggers), minItems: 1 },
        action: { enum: ['redact', 'block', 'annotate'] },
      },
    },
  },
} as const satisfies Readonly<Record<keyof Asked, JsonSchema>>

/** The shape of a step: the settings with every default written out. It is large and asked seldom. */
export const stepSchema: Schema<PostprocessStep> = createSchema<PostprocessStep>(
  {
    ...configSchema.json,
    required: ['declared', ...Object.keys(settings)],
    properties: {
      ...Object.fromEntries(
        Object.entries(settings).map(([name, schema]) => [name, completeSchema(schema, travelling)]),
      ),
      declared: { type: 'array', items: { type: 'string', maxLength: 256 }, maxItems: 1_024 },
      asked: {
        type: 'object',
        description: "What a caller's directives add.",
        additionalProperties: false,
        properties: askedShapes,
      },
    },
  },
  { seldom: true },
)
