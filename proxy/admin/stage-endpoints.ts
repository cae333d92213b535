import { gatewayError } from '../../plugins/errors.ts'
import { createSchema } from '../../plugins/schema.ts'
import { stageVerbs } from '../folding/stage-plan.ts'
import type { Endpoint, Question } from './endpoint.ts'
import type { ChangedBy } from './operations.ts'

const reasonSchema = createSchema<{ readonly reason: string }>({
  type: 'object',
  additionalProperties: false,
  required: ['reason'],
  properties: {
    reason: { type: 'string', pattern: '\\S', maxLength: 1_000, description: 'Why; recorded with who asked.' },
  },
})

const rollbackAllSchema = createSchema<{ readonly reason: string; readonly kubernetes?: boolean }>({
  type: 'object',
  additionalProperties: false,
  required: ['reason'],
  properties: {
    reason: { type: 'string', pattern: '\\S', maxLength: 1_000, description: 'Why; recorded with who asked.' },
    kubernetes: { type: 'boolean', description: 'Undo the runner’s Deployment as well.' },
  },
})

function byFrom({ actor, body }: Question): ChangedBy {
  return { actor, reason: reasonSchema.parse(body, 'invalid_request').reason }
}

const moves = stageVerbs.map(
  (verb): Endpoint => ({
    method: 'POST',
    path: `/-/layers/:layer/${verb}`,
    run: async (operations, question) => ({
      body: await operations.changeStage(verb, question.params['layer'] ?? '', byFrom(question)),
    }),
  }),
)

const rollbackAll: Endpoint = {
  method: 'POST',
  path: '/-/rollback',
  async run(operations, { actor, body }) {
    const { reason, kubernetes = false } = rollbackAllSchema.parse(body, 'invalid_request')
    return { body: await operations.rollbackAll({ actor, reason }, { kubernetes }) }
  },
}

/** How many changes are told by default, and at most. */
const [fewChanges, mostChanges] = [100, 1_000]

const history: Endpoint = {
  method: 'GET',
  path: '/-/history',
  async run(operations, { query }) {
    const asked = query.get('limit')
    const limit = asked === null ? fewChanges : Number(asked)
    if (!Number.isInteger(limit) || limit < 1 || limit > mostChanges)
      throw gatewayError('invalid_request', `limit must be a whole number from 1 to ${mostChanges}`)
    return { body: { changes: await operations.history(limit) } }
  },
}

/** The endpoints that move layers, and tell how they have moved. */
export const stageEndpoints: readonly Endpoint[] = [...moves, rollbackAll, history]
