import { jsonFromBody } from '../../plugins/chat.ts'
import { type GatewayError, gatewayError } from '../../plugins/errors.ts'
import { replyFromBytes } from '../../plugins/reply.ts'
import { createSchema, sayFault } from '../../plugins/schema.ts'
import { through } from '../../plugins/stack.ts'
import { writeAnswer } from '../answer.ts'
import { openai } from '../dialect.ts'
import type { Rooms } from '../rooms.ts'
import { whoIs } from '../stories.ts'
import { beginVisit, callOf, finish, frameOf, type Http } from '../visit.ts'

/** What a caller thinks of an answer. */
export interface Feedback {
  /** The `x-request-id` of the answer, or the `id` of the completion. */
  readonly id: string
  /** −1 (bad) to 1 (good). */
  readonly score: number
}

/** What callers send: a number, or a thumb. */
interface Said {
  readonly id: string
  readonly score: number | 'up' | 'down'
}

const schema = createSchema<Said>({
  type: 'object',
  required: ['id', 'score'],
  additionalProperties: false,
  properties: {
    id: { type: 'string', minLength: 1, maxLength: 128 },
    score: { anyOf: [{ type: 'number', minimum: -1, maximum: 1 }, { enum: ['up', 'down'] }] },
  },
})

const kind = { route: 'models', dialect: openai, path: '/v1/feedback' } as const

/**
 * `POST /v1/feedback`: kept with the call it is about, while that is remembered, and by whoever made it only. Behind auth and request limits; 404
 * for an id not known. Calls of a rollout are known at every replica that shares the store, others where they were served.
 */
export async function feedback(rooms: Rooms, body: Buffer, http: Http): Promise<void> {
  const visit = beginVisit(rooms, kind, http)
  const error: GatewayError | undefined = await writeAnswer(frameOf(rooms, visit), async () => {
    const reply = await through(visit.setup.seating('models').seats, callOf(visit, body), {
      inside: async ({ facts: { principal } }) => {
        const said = feedbackFromBody(body)
        // Whose call it was is told to nobody else: for them there is none.
        if (!(await rooms.noteFeedback(said, principal && whoIs(principal))))
          throw gatewayError('not_found', 'no recent call of yours has this id', { field: 'id' })
        return replyFromBytes({ status: 202, streamed: false, source: 'layer' }, 'opaque', [
          Buffer.from('{"accepted":true}'),
        ])
      },
      witness: visit.record,
    })
    return { status: reply.status, headers: reply.headers, streamed: false, whole: () => reply.whole() }
  })
  finish(rooms, visit, error)
}

function feedbackFromBody(body: Buffer): Feedback {
  const value = jsonFromBody(body)
  const [fault] = schema.faults(value)
  if (fault) throw gatewayError('invalid_request', sayFault(fault), { field: fault.path })
  const { id, score } = value as Said
  return { id, score: score === 'up' ? 1 : score === 'down' ? -1 : score }
}
