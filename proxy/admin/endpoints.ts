import { logLevels } from '../../config/sections.ts'
import { gatewayError } from '../../plugins/errors.ts'
import { createSchema } from '../../plugins/schema.ts'
import { consumers } from './consumers-endpoint.ts'
import { diffs } from './diffs-endpoint.ts'
import type { Endpoint } from './endpoint.ts'
import type { Operations, Probe } from './operations.ts'
import { events } from './page/events-endpoint.ts'
import { pageEndpoints } from './page/page-endpoint.ts'
import { answerFromHealth } from './probes.ts'
import { purge } from './purge-endpoint.ts'
import { rolloutEndpoints } from './rollout-endpoints.ts'
import { stageEndpoints } from './stage-endpoints.ts'
import { switchEndpoints } from './switch-endpoints.ts'

const reasonSchema = createSchema<{ readonly reason?: string }>({
  type: 'object',
  additionalProperties: false,
  properties: { reason: { type: 'string', maxLength: 1_000, description: 'Why; recorded.' } },
})

const loggingSchema = createSchema<{ readonly level: (typeof logLevels)[number]; readonly reason?: string }>({
  type: 'object',
  additionalProperties: false,
  required: ['level'],
  properties: {
    level: { type: 'string', enum: [...logLevels], description: 'Least level that is logged from now on.' },
    reason: { type: 'string', maxLength: 1_000, description: 'Why; recorded.' },
  },
})

const probe = (name: Probe): Endpoint => ({
  method: 'GET',
  path: `/healthz/${name}`,
  run: (operations, { query }) => answerFromHealth(name, operations.health(name), isOn(query.get('verbose'))),
})

const isOn = (value: string | null): boolean => value !== null && value !== 'false' && value !== '0'

const metrics: Endpoint = {
  method: 'GET',
  path: '/metrics',
  async run(operations, { accept }) {
    const { contentType, text } = await operations.metrics(accept)
    return { contentType, headers: { vary: 'accept' }, body: text }
  },
}

const explain: Endpoint = {
  method: 'GET',
  path: '/-/explain',
  run(operations, { query }) {
    const id = query.get('id')
    const layer = query.get('layer')
    if ((id === null) === (layer === null))
      throw gatewayError('invalid_request', 'ask with exactly one of ?id= and ?layer=')
    const found = id === null ? operations.explainLayer(layer ?? '') : operations.explain(id)
    if (found) return { body: found }
    const why = id === null ? 'there is no such layer' : 'no call with this id is remembered; only the latest ones are'
    throw gatewayError('not_found', why)
  },
}

const reload: Endpoint = {
  method: 'POST',
  path: '/-/reload',
  async run(operations, { actor, body }) {
    reasonSchema.parse(body, 'invalid_request')
    const outcome = await operations.reload(actor)
    return { status: outcome.ok ? 200 : 422, body: outcome }
  },
}

const drain: Endpoint = {
  method: 'POST',
  path: '/-/drain',
  run(operations, { actor, body }) {
    const { reason } = reasonSchema.parse(body, 'invalid_request')
    operations.drain(actor, reason)
    return { status: 202, body: { draining: true } }
  },
}

const drainWait: Endpoint = {
  method: 'GET',
  path: '/-/drain/wait',
  async run(operations, { signal }) {
    const outcome = await operations.drained(signal)
    return { status: outcome.drained ? 200 : 504, body: outcome }
  },
}

const readLogging: Endpoint = {
  method: 'GET',
  path: '/-/logging',
  run: (operations) => ({ body: { level: operations.logLevel() } }),
}

const setLogging: Endpoint = {
  method: 'POST',
  path: '/-/logging',
  run(operations, { actor, body }) {
    const { level } = loggingSchema.parse(body, 'invalid_request')
    operations.setLogLevel(level, actor)
    return { body: { level } }
  },
}

const look = (path: string, run: (operations: Operations) => unknown): Endpoint => ({
  method: 'GET',
  path,
  run: (operations) => ({ body: run(operations) }),
})

/** Every endpoint there is in this version. */
export const endpoints: readonly Endpoint[] = [
  probe('live'),
  probe('ready'),
  probe('startup'),
  metrics,
  look('/-/status', (operations) => operations.status()),
  look('/-/layers', (operations) => ({ layers: operations.layers(), switches: operations.switches() })),
  ...stageEndpoints,
  ...switchEndpoints,
  purge,
  ...rolloutEndpoints,
  consumers,
  diffs,
  look('/-/config', (operations) => operations.config()),
  explain,
  reload,
  drain,
  drainWait,
  readLogging,
  setLogging,
  events,
  ...pageEndpoints,
]
