import { cache, type PurgeScope } from '../../plugins/cache/index.ts'
import { createSchema } from '../../plugins/schema.ts'
import type { Endpoint } from './endpoint.ts'

const schema = createSchema<PurgeScope & { readonly all?: true; readonly reason: string }>({
  type: 'object',
  additionalProperties: false,
  required: ['reason'],
  anyOf: [{ required: ['all'] }, { required: ['tenant'] }, { required: ['route'] }, { required: ['promptVersion'] }],
  properties: {
    all: { const: true, description: 'Everything that fits the other members; needed where there is none.' },
    tenant: { type: 'string', minLength: 1, maxLength: 256, description: 'Answers to this tenant only.' },
    route: { enum: [...cache.routes], description: 'Answers on this route only.' },
    promptVersion: { type: 'string', minLength: 1, maxLength: 128, description: 'Answers under this version only.' },
    reason: { type: 'string', pattern: '\\S', maxLength: 1_000, description: 'Why; recorded with who asked.' },
  },
})

/** `POST /-/cache/purge`: stored answers are forgotten, those of a tenant, a route or a prompt version, or `all`. */
export const purge: Endpoint = {
  method: 'POST',
  path: '/-/cache/purge',
  async run(operations, { actor, body }) {
    const { reason, all: _, ...scope } = schema.parse(body, 'invalid_request')
    return { body: await operations.purgeCache(scope, { actor, reason }) }
  },
}
