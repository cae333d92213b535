import { createSchema } from '../../plugins/schema.ts'
import type { SwitchName } from '../folding/state/switches.ts'
import type { Endpoint, Question } from './endpoint.ts'
import type { Operations, SwitchOutcome } from './operations.ts'

const reason = {
  type: 'string',
  pattern: '\\S',
  maxLength: 1_000,
  description: 'Why; recorded with who asked. Needed to turn it on.',
} as const
const off = { type: 'boolean', description: 'Turn it off.' } as const

interface Freeze {
  readonly reason?: string
  readonly off?: boolean
  readonly frozen?: boolean
}

const freezeSchema = createSchema<Freeze>({
  type: 'object',
  additionalProperties: false,
  anyOf: [{ required: ['reason'] }, { required: ['off'] }, { required: ['frozen'] }],
  properties: { reason, off, frozen: { type: 'boolean', description: 'Whether nothing moves forward. Default true.' } },
})

interface Degrade {
  readonly reason?: string
  readonly off?: boolean
  readonly stream?: boolean
}

const degradeSchema = createSchema<Degrade>({
  type: 'object',
  additionalProperties: false,
  anyOf: [{ required: ['reason'] }, { required: ['off'] }, { required: ['stream'] }],
  properties: { reason, off, stream: { type: 'boolean', description: 'Whether runners stream. Default false.' } },
})

const reasonSchema = createSchema<{ readonly reason: string }>({
  type: 'object',
  required: ['reason'],
  properties: { reason },
})

/** Turns it. Whoever turns it on must say why. */
async function turn(
  operations: Operations,
  { actor, body }: Question,
  { name, on, why = 'it is over' }: { readonly name: SwitchName; readonly on: boolean; readonly why?: string },
): Promise<{ body: SwitchOutcome }> {
  const said = on ? reasonSchema.parse(body, 'invalid_request').reason : why
  return { body: await operations.turnSwitch(name, on, { actor, reason: said }) }
}

/** `POST /-/freeze`: nothing moves forward, by itself or by hand, until it is turned off; rollbacks act as ever. */
const freeze: Endpoint = {
  method: 'POST',
  path: '/-/freeze',
  run(operations, question) {
    const { reason: why, off: over = false, frozen = true } = freezeSchema.parse(question.body, 'invalid_request')
    return turn(operations, question, { name: 'freeze', on: frozen && !over, ...(why ? { why } : {}) })
  },
}

/** `POST /-/degrade`: callers that ask for a stream get one that is made from a whole answer, until it is turned off. */
const degrade: Endpoint = {
  method: 'POST',
  path: '/-/degrade',
  run(operations, question) {
    const { reason: why, off: over = false, stream = false } = degradeSchema.parse(question.body, 'invalid_request')
    return turn(operations, question, { name: 'no-stream', on: !stream && !over, ...(why ? { why } : {}) })
  },
}

/** The endpoints of what people switch for all layers and all replicas. */
export const switchEndpoints: readonly Endpoint[] = [freeze, degrade]
