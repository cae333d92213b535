import { completeSchema } from '../complete-schema.ts'
import { createSchema, type JsonSchema, type Schema } from '../schema.ts'
import { askedLimits } from './asked.ts'
import { type PromptConfig, promptConfig } from './config.ts'
import type { PromptRule } from './rule.ts'

const { templates: configured, ...settings } = promptConfig.json['properties'] as Readonly<
  Record<keyof PromptConfig, JsonSchema>
>
const { role, position, version } = configured['additionalProperties'].properties as Record<string, JsonSchema>
const text = (maxLength: number, description: string): JsonSchema => ({ type: 'string', maxLength, description })

const template: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['texts'],
  properties: {
    role,
    position,
    version,
    texts: {
      type: 'object',
      minProperties: 1,
      additionalProperties: text(262_144, 'The text of a version.'),
      description: 'Texts by the name of their version.',
    },
  },
}

const asked: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  description: "What a caller's directives add.",
  properties: {
    template: { ...text(askedLimits.template, "The caller's own system text."), minLength: 1 },
    variables: {
      type: 'object',
      maxProperties: askedLimits.variables,
      propertyNames: { pattern: '^[A-Za-z_][A-Za-z0-9_-]{0,63}$' },
      additionalProperties: { type: ['string', 'number', 'boolean'], maxLength: askedLimits.value },
      description: 'Values for names that nothing else fills.',
    },
    version: { ...text(256, 'Version of the selected template.'), minLength: 1 },
  },
}

/** The shape of a step: the settings with every default written out and the texts in place of files. */
export const promptStep: Schema<PromptRule> = createSchema<PromptRule>({
  ...promptConfig.json,
  required: ['templates', 'declared', ...Object.keys(settings)],
  properties: {
    templates: { type: 'object', additionalProperties: completeSchema(template), description: 'Templates, by name.' },
    ...Object.fromEntries(Object.entries(settings).map(([name, schema]) => [name, completeSchema(schema)])),
    declared: {
      type: 'array',
      items: text(256, 'A name.'),
      maxItems: 1_024,
      description: 'Names that paths resolve in facts only.',
    },
    inlineTemplate: { type: 'boolean', description: 'Whether a caller may bring system text of its own.' },
    asked,
  },
})
