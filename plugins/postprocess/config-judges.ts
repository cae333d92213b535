import type { JsonSchema } from '../schema.ts'
import { count, flag, object, oneOf, orNull, share, text } from './config-fields.ts'

const timeout = count('How long to wait for an answer, in milliseconds', [1, 600_000, 10_000])
const headers: JsonSchema = {
  type: 'object',
  description:
    'Headers that go with the request. Rules with such headers stay in the gateway; name a credential in tokenFile',
  additionalProperties: { type: 'string' },
  default: {},
}
const tokenFile: JsonSchema = {
  type: ['string', 'null'],
  minLength: 1,
  description: 'File with a token that goes along as Authorization: Bearer, one trailing newline trimmed',
  default: null,
}
const onFailure = oneOf('What becomes of an answer that nobody could judge', ['pass', 'refuse'], 'refuse')
/** The schema of `ModerationRules`. */
export const moderation = object(
  'Who judges answers by safety categories',
  {
    kind: oneOf('A moderation endpoint as OpenAI shapes it, or a guard model on a runner', ['endpoint', 'guard-model']),
    url: text('The endpoint', { default: '' }),
    runner: text('The runner of the guard model', { default: '' }),
    model: text('The model that judges', { default: '' }),
    headers,
    tokenFile,
    categories: {
      type: 'object',
      description: "The judge's names of categories, by ours",
      additionalProperties: { type: 'string' },
      default: {},
    },
    levels: {
      ...object('From which score on a category counts as this grave', {
        low: share('low', 0.2),
        medium: share('medium', 0.5),
        high: share('high', 0.8),
      }),
      default: {},
    },
    timeoutMs: timeout,
    onFailure,
  },
  ['kind'],
)
/** The schema of `QualityRules`. */
export const quality = object(
  'Who scores answers from 0 to 1',
  {
    scorer: oneOf('An endpoint that answers {score}, or a model that judges', ['endpoint', 'judge']),
    url: text('The endpoint', { default: '' }),
    runner: text('The runner of the judge', { default: '' }),
    model: text('The model that judges', { default: '' }),
    headers,
    tokenFile,
    instructions: text('What the judge is told', {
      default:
        'Rate how well the answer serves the question. Reply with a number from 0 (useless) to 1 (perfect) and nothing else.',
    }),
    min: share('Scores under it are a failure of the answer', 0),
    timeoutMs: timeout,
    onFailure: { ...onFailure, default: 'pass' },
  },
  ['scorer'],
)
/** The schema of `ReviewRules`. */
export const review = object(
  'Who is told about answers with a low score',
  {
    below: share('Scores under it are sent'),
    webhook: orNull(text('Where to post them')),
    headers,
    tokenFile,
    stream: orNull(text('The Redis stream to append them to')),
    maxEntries: count('About how many entries the stream keeps', [1, 10_000_000, 10_000]),
    includeText: flag('Send the text of the answer too', false),
    timeoutMs: timeout,
  },
  ['below'],
)
