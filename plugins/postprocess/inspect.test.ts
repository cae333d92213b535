import { expect, test } from 'vitest'
import { policyReportSchema } from '../policy-report.ts'
import { createSchema } from '../schema.ts'
import { inspectStep } from './inspect.ts'
import { seatOf, stepOf } from './test-answers.ts'

const url = 'https://judge.example:8443/score'
const seat = seatOf({}, { allowed: ['judge.example:8443'], secrets: ['there.token'] })
const reports = createSchema(policyReportSchema)
const found = (config: object, change: object = {}) => {
  const finding = inspectStep({ ...stepOf(config), ...change }, seat)
  const layers = { postprocess: { ...finding, ms: 1 } }
  expect(reports.faults({ pol: 'a'.repeat(64), layers })).toEqual([])
  return finding
}

test('rules that hold while an answer is made are compiled', () => {
  const config = { forbidden_phrases: ['x'], pii: { types: ['email'] }, suffix: 'Bye.', reasoning: {} }
  expect(found(config)).toEqual({ status: 'compiled' })
})

test.each([
  [{ json: { schema: { type: 'object' } } }, 'json.schema'],
  [{ required_phrases: ['x'] }, 'required_phrases'],
  [{ tenants: { acme: { min_output_length: 3 } } }, 'tenants.acme.min_output_length'],
])('a rule that can only be checked afterwards is soft: %j', (config, path) => {
  expect(found(config)).toMatchObject({ status: 'soft', code: 'UNSUPPORTED_KEYWORD', path, try: /checked/ })
})

test.each<[object, object]>([
  [
    { quality_score: { scorer: 'endpoint', url: 'https://other.example/x' } },
    { code: 'EGRESS_DENIED', path: 'quality_score.url', value: 'other.example', try: /--egress other\.example/ },
  ],
  [
    { quality_score: { scorer: 'endpoint', url }, tenants: { t: { review: { below: 1, webhook: 'http://x/y' } } } },
    { code: 'EGRESS_DENIED', path: 'tenants.t.review.webhook' },
  ],
  [
    { quality_score: { scorer: 'endpoint', url, tokenFile: 'gone.token' } },
    { code: 'UNRESOLVED_REF', path: 'quality_score.tokenFile', value: 'gone.token' },
  ],
  [
    { quality_score: { scorer: 'judge', runner: 'r', model: 'gone' } },
    { code: 'UNRESOLVED_REF', path: 'quality_score.model', value: 'gone', try: /small, large/ },
  ],
  [
    { quality_score: { scorer: 'endpoint', url }, review: { below: 1, stream: 'reviews' } },
    { code: 'UNRESOLVED_REF', path: 'review.stream' },
  ],
  [
    {
      forbidden_phrases: Array(700).fill('a'),
      custom_safety_rules: [{ id: 'r', trigger_phrases: Array(400).fill('b'), action: 'block' }],
    },
    { code: 'PHRASE_LIMIT', path: 'forbidden_phrases', limit: 1000, value: 1100 },
  ],
  [
    { required_phrases: ['say x'], forbidden_phrases: ['x'] },
    { code: 'UNSATISFIABLE', path: 'required_phrases[0]', value: ['required_phrases[0]', 'forbidden_phrases[0]'] },
  ],
  [
    { tenants: { t: { suffix: 'x', json: { schema: {} } } } },
    { code: 'UNSATISFIABLE', path: 'tenants.t.suffix', value: ['tenants.t.suffix', 'tenants.t.json.schema'] },
  ],
  [{ json: { schema: { enum: [] } } }, { code: 'INVALID_ENUM_VALUE', path: 'json.schema' }],
  [{ json: { schema: { $ref: 'https://x.example/y' } } }, { code: 'UNRESOLVED_REF', path: 'json.schema.$ref' }],
  [{ json: { schema: { pattern: '(?=x)' } } }, { code: 'UNSUPPORTED_KEYWORD', path: 'json.schema.pattern' }],
  [{ json: { schema: { anyOf: Array(600).fill({}) } } }, { code: 'SCHEMA_TOO_COMPLEX', path: 'json.schema.anyOf' }],
  [
    { pii: { custom: [{ name: 'a', pattern: '^x', maxMatch: 3 }] } },
    { code: 'UNSUPPORTED_KEYWORD', path: 'pii.custom[0].pattern' },
  ],
])('what this runner cannot hold to is refused, with what would do: %j', (config, finding) => {
  expect(found(config)).toMatchObject({ status: 'refused', try: /./, ...finding })
})

test('what this runner has is compiled', () => {
  const config = {
    quality_score: { scorer: 'endpoint', url, tokenFile: 'keys/there.token' },
    moderation: { kind: 'guard-model', runner: 'r', model: 'small' },
    safety: [{ category: 'a', threshold: 'block_high' }],
    review: { below: 1, webhook: url },
  }
  expect(found(config)).toEqual({ status: 'compiled' })
})
