import type { JsonSchema } from '../schema.ts'

/** Who scores an answer: an endpoint, or a model on a configured runner. */
export type Scorer =
  | { readonly url: string; readonly timeoutMs?: number }
  | { readonly runner: string; readonly model: string; readonly timeoutMs?: number }

/** When an answer is good enough to be kept. */
export interface QualityScore {
  /** Least score that is kept, 0 to 1. */
  readonly min: number
  readonly scorer: Scorer
  /** An answer below `min` is asked for once more, on the largest eligible target; such calls are buffered. */
  readonly retryLargest?: boolean
}

/** What an answer must pass to be stored. It never changes what the caller gets, except by `retryLargest`. */
export interface OutputValidation {
  readonly json_schema?: JsonSchema
  readonly quality_score?: QualityScore
}

const timeoutMs = {
  type: 'integer',
  minimum: 1,
  maximum: 600_000,
  description: 'For the whole scoring, in milliseconds; default 10000.',
}

/** The schema of {@link OutputValidation}, or null. */
export const outputValidationSchema: JsonSchema = {
  type: ['object', 'null'],
  default: null,
  additionalProperties: false,
  description: 'What an answer must pass to be stored.',
  properties: {
    json_schema: { type: 'object', description: 'JSON Schema that the text of every choice must fit.' },
    quality_score: {
      type: 'object',
      required: ['min', 'scorer'],
      additionalProperties: false,
      description: 'Answers below a score are not stored.',
      properties: {
        min: { type: 'number', minimum: 0, maximum: 1, description: 'Least score that is stored, 0 to 1.' },
        scorer: {
          type: 'object',
          description:
            'Who scores: {url}, which gets {request, completion} and answers {score}, or {runner, model}, a judge.',
          additionalProperties: false,
          oneOf: [{ required: ['url'] }, { required: ['runner', 'model'] }],
          properties: {
            url: { type: 'string', pattern: '^https?://', description: 'Endpoint that scores.' },
            runner: { type: 'string', minLength: 1, description: 'Runner of the judge.' },
            model: { type: 'string', minLength: 1, description: 'Model of the judge.' },
            timeoutMs,
          },
        },
        retryLargest: {
          type: 'boolean',
          description: 'Ask once more on the largest eligible target when the score is below min. Buffers the answer.',
        },
      },
    },
  },
}
