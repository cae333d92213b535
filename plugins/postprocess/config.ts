import type { Route } from '../chat.ts'
import { createSchema, type JsonSchema } from '../schema.ts'
import { count, flag, list, object, oneOf, orNull, phrases, text } from './config-fields.ts'
import { moderation, quality, review } from './config-judges.ts'
import { piiShapes } from './pii.ts'
import type { Rules } from './rules.ts'

/** The settings of postprocess: rules for all, and what differs by route and by tenant (the tenant's word counts last). */
export interface Config extends Rules {
  readonly routes: Readonly<Partial<Record<Route, Partial<Rules>>>>
  readonly tenants: Readonly<Record<string, Partial<Rules>>>
}

const actions = ['redact', 'block', 'annotate']
const tagNames = (description: string, names: string[]): JsonSchema => ({
  ...list(description, { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9_-]{0,31}$' }, 32),
  default: names,
})

const reasoning = object(
  'Tags that thoughts and answers come in; never touched in code or where the caller asked for them',
  {
    drop: tagNames('Tags that go with what they enclose', ['think', 'thinking']),
    unwrap: tagNames('Tags that go, while what they enclose stays', ['answer']),
    startsInside: flag('Answers begin inside the first drop tag, which the prompt template has opened', false),
  },
)
const json = object('JSON answers', {
  schema: {
    description: 'A JSON Schema for every answer; drafts 04 to 2020-12',
    default: null,
    type: ['object', 'boolean', 'null'],
  },
  responseFormat: oneOf("Whether the caller's response_format is enforced here", ['enforce', 'ignore'], 'enforce'),
})
const pii = object('Personal data in answers', {
  mode: oneOf('What becomes of it', actions, 'redact'),
  types: list('Kinds that are known by shape', { enum: Object.keys(piiShapes) }, 16),
  custom: list(
    'Patterns of your own, in RE2 syntax, without anchors',
    object(
      'One pattern',
      {
        name: text('Its name, as it appears in answers', { pattern: '^[A-Za-z0-9_. -]{1,64}$' }),
        pattern: text('The pattern', { minLength: 1, maxLength: 1_024 }),
        maxMatch: {
          type: 'integer',
          description: 'The longest match, in UTF-16 code units',
          minimum: 1,
          maximum: 1_024,
        },
      },
      ['name', 'pattern', 'maxMatch'],
    ),
    64,
  ),
  toolCalls: flag('Also in the arguments of tool calls', false),
})
const echoGuard: JsonSchema = {
  ...object(
    'Values of the request that must not come back; a list is the list of paths',
    {
      paths: list('Where they stand, in the path language', { type: 'string', minLength: 1 }, 64),
      action: oneOf('What becomes of one', actions, 'redact'),
      minLength: count('Shorter values are not looked for, in UTF-16 code units', [1, 1_024, 4]),
    },
    ['paths'],
  ),
  type: ['object', 'array', 'null'],
  items: { type: 'string', minLength: 1 },
  maxItems: 64,
  default: null,
}
const severities = Object.fromEntries(
  ['low', 'medium', 'high'].map((each) => [each, phrases(`Terms of ${each} severity`)]),
)
const safety = object(
  'One category',
  {
    category: text('Its name', { minLength: 1, maxLength: 64 }),
    threshold: oneOf('From which severity on it ends an answer', [
      'block_none',
      'block_high',
      'block_medium',
      'block_low',
      'block_all',
    ]),
  },
  ['category', 'threshold'],
)
const customRule = object(
  'One rule',
  {
    id: text('Its name', { minLength: 1, maxLength: 64 }),
    trigger_phrases: phrases('Phrases it looks for'),
    action: oneOf('What becomes of one', actions),
  },
  ['id', 'trigger_phrases', 'action'],
)
const suffix: JsonSchema = {
  ...object(
    'A text that every answer ends with; in a JSON answer it goes into the named field',
    { text: text('The text', { minLength: 1, maxLength: 65_536 }), field: orNull(text('The member of a JSON answer')) },
    ['text'],
  ),
  type: ['string', 'object', 'null'],
  minLength: 1,
  default: null,
}

const rules: Record<keyof Omit<Rules, 'asked'>, JsonSchema> = {
  reasoning: orNull(reasoning),
  json: { ...json, default: {} },
  required_phrases: phrases('Phrases that every answer must hold'),
  forbidden_phrases: phrases('Phrases that no answer may hold'),
  forbiddenAction: oneOf('What becomes of a forbidden phrase', actions, 'block'),
  min_output_length: count('The shortest answer, in Unicode code points', [0, 1_000_000, 0]),
  pii: orNull(pii),
  echo_guard: echoGuard,
  safety: list('Safety categories and from which severity on they end an answer', safety, 64),
  safetyTerms: {
    type: 'object',
    description: 'Terms of each category',
    additionalProperties: object('Terms', severities),
    default: {},
  },
  moderation: orNull(moderation),
  custom_safety_rules: list('Rules of your own', customRule, 256),
  suffix,
  review: orNull(review),
  quality_score: orNull(quality),
  phrases: {
    ...object('How phrases are compared', {
      semantics: oneOf(
        'Byte for byte, with ASCII letters folded or not',
        ['literal-ascii-ci/1', 'literal/1'],
        'literal-ascii-ci/1',
      ),
      nfkc: flag('Match on the NFKC form without invisible characters', false),
    }),
    default: {},
  },
  redaction: text('What stands for redacted text; {label} is its kind', {
    pattern: '^[^"\\\\\\u0000-\\u001f]{0,64}$',
    default: '[redacted {label}]',
  }),
  onInvalid: oneOf(
    'What becomes of an answer that breaks a rule: refused, repaired where it is JSON, or asked for again',
    ['refuse', 'repair', 'retry'],
    'repair',
  ),
  maxRetries: count('How often an answer is asked for again', [0, 5, 1]),
  maxBufferBytes: count(
    'The longest answer that is kept whole for a check, in bytes',
    [1_024, 1_073_741_824, 8_388_608],
  ),
}

/** What differs for a route or a tenant: the same members, none of them filled in. */
const overrides = object(
  'What differs here',
  Object.fromEntries(Object.entries(rules).map(([name, { default: _default, ...schema }]) => [name, schema])),
)

/** The schema of {@link Config}. */
export const configSchema = createSchema<Config>(
  object('What leaves the building', {
    ...rules,
    routes: {
      type: 'object',
      description: 'What differs by route',
      // One schema for all of them: it is large, and is compiled where it stands.
      patternProperties: { '^(?:chat|completions|messages)$': overrides },
      additionalProperties: false,
      default: {},
    },
    tenants: { type: 'object', description: 'What differs by tenant', additionalProperties: overrides, default: {} },
  }),
)
