import { createSchema, type JsonSchema, type Schema } from '../schema.ts'
import { type RoutingConfig, routingConfig } from './config.ts'

/** The rule as data: the settings, and the header that names a conversation. */
export interface RoutingStep extends RoutingConfig {
  /** Request header, lower case. */
  readonly conversationHeader: string
}

const { targets, ...settings } = routingConfig.json['properties'] as Record<'targets', JsonSchema>
const target = targets['items'] as { readonly properties: Readonly<Record<string, JsonSchema>> }
const asked: JsonSchema = {
  type: 'number',
  minimum: 0,
  maximum: 1e9,
  description: 'Weight that directives gave this target, where its own is above 0. Never in a policy.',
}

/** The schema of {@link RoutingStep}. Runner names are kept as configured, so that rules agree on both sides. */
export const routingStep: Schema<RoutingStep> = createSchema<RoutingStep>({
  type: 'object',
  additionalProperties: false,
  required: [...Object.keys(settings), 'targets', 'conversationHeader'],
  description: 'Which model answers: shares of the token budget among targets, with limits by length and tier.',
  properties: {
    ...settings,
    targets: { ...targets, items: { ...target, properties: { ...target.properties, asked } } },
    conversationHeader: {
      type: 'string',
      minLength: 1,
      maxLength: 128,
      description: 'Request header that names a conversation, lower case.',
    },
  },
})
