import { createSchema, type JsonSchema, type Schema } from '../schema.ts'
import { type Adaptations, adaptationsSchema } from './config-adaptations.ts'
import { type ContextConfig, contextSchema } from './config-context.ts'
import { type Controllability, controllabilitySchema } from './config-controllability.ts'

/** Whom something is for; a member that is left out matches everybody. */
export interface When {
  readonly tier?: string | readonly string[]
  readonly tenant?: string | readonly string[]
  /** The model that answers: the target's. */
  readonly model?: string | readonly string[]
}

/** Where a template's text comes from: written here, or a file beside the configuration. */
export interface TemplateText {
  readonly text?: string
  readonly file?: string
}

/** One template with its versions. */
export interface TemplateConfig extends TemplateText {
  /** Name of the version that `text` or `file` holds: the current one. */
  readonly version: string
  /** Further versions that rules can pin. */
  readonly versions: Readonly<Record<string, TemplateText>>
  readonly role: 'system' | 'developer'
  /** Where it stands against the caller's own instructions. */
  readonly position: 'before' | 'after' | 'replace'
}

/** Which template whom gets; the first rule that matches counts. */
export interface UseRule {
  readonly template: string
  /** A pinned version; absent: the current one. */
  readonly version?: string
  readonly when: When
}

/** A text that is set before or after the instructions or the last user message. */
export interface Decorator {
  readonly when: When
  readonly role: 'system' | 'user'
  readonly position: 'prepend' | 'append'
  readonly text: string
}

/** The settings of prompt. */
export interface PromptConfig {
  readonly templates: Readonly<Record<string, TemplateConfig>>
  /** Template for whom no rule matches. When null and there is one template and no rule, that one. */
  readonly default: string | null
  readonly use: readonly UseRule[]
  /** Values of the operator's own, by name. */
  readonly variables: Readonly<Record<string, unknown>>
  /** Variables read from the call, by path; absent there, the value of the same name in `variables` stands in. */
  readonly paths: Readonly<Record<string, string>>
  readonly enable_determinism: boolean
  readonly clock: { readonly granularityMs: number }
  readonly context: ContextConfig
  readonly decorators: readonly Decorator[]
  readonly adaptations: Adaptations
  readonly controllability: Controllability
}

const name: JsonSchema = { type: 'string', minLength: 1, maxLength: 256 }
const names = (description: string): JsonSchema => ({
  type: ['string', 'array'],
  items: name,
  minLength: 1,
  description,
})

const when: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  default: {},
  description: 'Whom it is for. A member that is left out matches everybody.',
  properties: {
    tier: names('Tier, or tiers.'),
    tenant: names('Tenant, or tenants.'),
    model: names('Model that answers, or models.'),
  },
}

const text: Record<string, JsonSchema> = {
  text: { type: 'string', maxLength: 262_144, description: 'The text itself.' },
  file: { type: 'string', minLength: 1, description: 'File with the text, relative to this configuration.' },
}

const template: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    ...text,
    version: { ...name, default: '1', description: 'Name of the version that text or file holds: the current one.' },
    versions: {
      type: 'object',
      additionalProperties: { type: 'object', additionalProperties: false, properties: text },
      default: {},
      description: 'Further versions, by name, that rules can pin.',
    },
    role: { enum: ['system', 'developer'], default: 'system', description: 'Role of the message it becomes.' },
    position: {
      enum: ['before', 'after', 'replace'],
      default: 'before',
      description: "Where it stands against the caller's own instructions.",
    },
  },
}

const use: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['template'],
  properties: {
    template: { ...name, description: 'Name of a template.' },
    version: { ...name, description: 'A pinned version. Left out: the current one.' },
    when,
  },
}

const decorator: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['role', 'position', 'text'],
  properties: {
    when,
    role: { enum: ['system', 'user'], description: 'The instructions, or the last user message.' },
    position: { enum: ['prepend', 'append'], description: 'Before or after it.' },
    text: { type: 'string', minLength: 1, maxLength: 65_536, description: 'Text, with variables as in a template.' },
  },
}

/** The shape of the section `layers.prompt`. */
export const promptConfig: Schema<PromptConfig> = createSchema<PromptConfig>({
  type: 'object',
  additionalProperties: false,
  description: 'What the model is told first, and what of a conversation it is shown.',
  properties: {
    templates: { type: 'object', additionalProperties: template, default: {}, description: 'Templates, by name.' },
    default: {
      type: ['string', 'null'],
      default: null,
      description: 'Template for whom no rule matches. null: the only template when there is no rule, else none.',
    },
    use: { type: 'array', items: use, default: [], description: 'Which template whom gets; the first match counts.' },
    variables: { type: 'object', default: {}, description: 'Values for templates, by name.' },
    paths: {
      type: 'object',
      additionalProperties: { type: 'string', minLength: 1 },
      default: {},
      description:
        'Values for templates that are read from the call, by name: paths into facts or, with body., the body.',
    },
    enable_determinism: {
      type: 'boolean',
      default: true,
      description: 'Rounds clocks, so that equal prompts stay equal.',
    },
    clock: {
      type: 'object',
      additionalProperties: false,
      default: {},
      description: 'What clocks in templates are rounded to.',
      properties: {
        granularityMs: {
          type: 'integer',
          minimum: 1,
          default: 3_600_000,
          description: 'Clocks are rounded down to multiples of this, in milliseconds, from the epoch in UTC.',
        },
      },
    },
    context: contextSchema,
    decorators: { type: 'array', items: decorator, default: [], description: 'Texts set before or after messages.' },
    adaptations: adaptationsSchema,
    controllability: controllabilitySchema,
  },
})
