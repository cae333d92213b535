import type { Probe } from '../layer.ts'
import type { PostprocessStep } from './step.ts'

const none: PostprocessStep = {
  reasoning: null,
  json: { schema: null, responseFormat: 'enforce' },
  required_phrases: [],
  forbidden_phrases: [],
  forbiddenAction: 'block',
  min_output_length: 0,
  pii: null,
  echo_guard: null,
  safety: [],
  safetyTerms: {},
  moderation: null,
  custom_safety_rules: [],
  suffix: null,
  review: null,
  quality_score: null,
  phrases: { semantics: 'literal-ascii-ci/1', nfkc: false },
  redaction: '[redacted {label}]',
  onInvalid: 'repair',
  maxRetries: 1,
  maxBufferBytes: 8_388_608,
  routes: {},
  tenants: {},
  declared: [],
}

const saying = (more: object): object => ({ model: 'probe', messages: [{ role: 'user', content: 'hello' }], ...more })
const asking = (schema: unknown): object =>
  saying({ response_format: { type: 'json_schema', json_schema: { name: 'probe', schema } } })
const closed = { type: 'object', properties: { at: { type: 'string' } }, additionalProperties: false }
const suffixed = (field: string | null): PostprocessStep => ({ ...none, suffix: { text: 'Made by a machine.', field } })

/** Calls that show whether a runner says what the rules say. */
export const postprocessProbes: readonly Probe<PostprocessStep>[] = [
  {
    title: 'a plain question passes, whatever its answer will be held to',
    step: {
      ...none,
      forbidden_phrases: ['secret'],
      pii: { mode: 'redact', types: ['email'], custom: [], toolCalls: false },
    },
    body: saying({}),
    expect: { o: 'pass' },
  },
  {
    title: 'a schema of the caller that is one passes',
    step: none,
    body: asking(closed),
    expect: { o: 'pass' },
  },
  {
    title: 'a schema of the caller that is wrong is refused',
    step: none,
    body: asking({ type: 'objekt' }),
    expect: { o: 'refuse', code: 'invalid_schema' },
  },
  {
    title: 'a schema that refers to somewhere else is refused and never fetched',
    step: none,
    body: asking({ $ref: 'https://example.com/schema.json' }),
    expect: { o: 'refuse', code: 'invalid_schema' },
  },
  {
    title: 'a mandatory suffix without a place in the JSON that the caller asks for is refused',
    step: suffixed(null),
    body: saying({ response_format: { type: 'json_object' } }),
    expect: { o: 'refuse', code: 'unsatisfiable' },
  },
  {
    title: "a mandatory suffix for a field that the caller's schema does not allow is refused",
    step: suffixed('note'),
    body: asking(closed),
    expect: { o: 'refuse', code: 'unsatisfiable' },
  },
  {
    title: 'a mandatory suffix for a field of the schema passes',
    step: suffixed('at'),
    body: asking(closed),
    expect: { o: 'pass' },
  },
  {
    title: "a tenant's own rules hold for it",
    step: { ...none, tenants: { probe: { suffix: 'Made by a machine.' } } },
    body: saying({ response_format: { type: 'json_object' } }),
    expect: { o: 'refuse', code: 'unsatisfiable' },
  },
]
