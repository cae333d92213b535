import type { Call } from '../plugins/call.ts'
import type { Chunk } from '../plugins/chat.ts'
import { gatewayError } from '../plugins/errors.ts'
import type { Seat } from '../plugins/host.ts'
import { type Acting, defineLayer, type Layer } from '../plugins/layer.ts'
import type { Target } from '../plugins/reply.ts'
import { createSchema, type JsonSchema } from '../plugins/schema.ts'
import { pass, refuse } from '../plugins/verdict.ts'

const strict = <Step>(properties: Record<string, JsonSchema>) =>
  createSchema<Step>({ type: 'object', additionalProperties: false, properties })
const plain = { reads: [], writes: [], answers: false, rewrites: false, meters: false, routes: ['chat'] } as const
const contract = { version: 1, stateful: false, probes: [] } as const
const opened = (): Acting => ({})

/** Knows `Bearer good-ID`, and whose secret the step names. */
const who = defineLayer({
  ...plain,
  name: 'who',
  writes: ['principal'],
  config: strict<object>({}),
  open: opened,
  native: {
    ...contract,
    step: strict<{ secret?: string; url?: string }>({ secret: { type: 'string' }, url: { type: 'string' } }),
    credentials: () => ['authorization'],
    inspect({ url }, seat) {
      return url === undefined || seat.allows(url)
        ? { status: 'compiled' }
        : { status: 'refused', code: 'EGRESS_DENIED', path: 'url' }
    },
    act({ secret, url }, seat): Acting {
      if (secret !== undefined) seat.file(secret)
      return {
        async decide({ headers }) {
          const id = /^Bearer good-(.+)$/.exec(headers['authorization'] ?? '')?.[1]
          if (id === undefined) return refuse(gatewayError('unauthenticated', 'no such caller'))
          const tier = url === undefined ? 'free' : (await seat.http.send(url, { timeoutMs: 1_000 })).body.toString()
          return pass({ principal: { id, tenant: `of-${id}`, tier, scopes: [], claims: {}, method: 'jwt' } })
        },
      }
    },
  },
})

/** Counts calls by tenant and side, up to a limit. */
const count = defineLayer({
  ...plain,
  name: 'count',
  reads: ['principal'],
  meters: true,
  routes: ['chat', 'completions', 'embeddings', 'models'],
  config: strict<object>({}),
  open: opened,
  tighten(step: { limit?: number }, { rate_limit: asked }) {
    if (!asked) return step
    const limit = asked['tokens_per_minute']
    if (typeof limit !== 'number' || limit > (step.limit ?? 1e9))
      throw gatewayError('invalid_request', 'only lower', { field: 'execution_context.rate_limit.tokens_per_minute' })
    return { ...step, limit }
  },
  native: {
    ...contract,
    stateful: true,
    step: strict<{ limit?: number }>({ limit: { type: 'number' } }),
    act: counting,
  },
})

function counting({ limit = 1e9 }: { limit?: number }, seat: Seat): Acting {
  const used = new WeakMap<AbortSignal, number>()
  const keyOf = ({ facts }: Call): string => `${seat.side}:${facts.principal?.tenant}`
  return {
    async decide(call) {
      const key = keyOf(call)
      const calls = Number((await seat.store.get(key))?.toString() ?? 0) + 1
      await seat.store.set(key, Buffer.from(String(calls)), 60_000)
      if (calls <= limit) return pass()
      seat.count('rate-limit.refused')
      return refuse(gatewayError('rate_limited', 'too many', { retryAfterMs: 1_500 }))
    },
    settle(call, reply) {
      return reply.observe({
        chunk: ({ usage }: Chunk) => usage && used.set(call.signal, usage.total_tokens ?? 0),
      })
    },
    notes(call) {
      const tokens = used.get(call.signal)
      return { bkt: keyOf(call), ...(tokens === undefined ? {} : { used: tokens }) }
    },
    ruleFor: () => ({ limit }),
  }
}

/** Sends every call to one model. */
const aim = defineLayer({
  ...plain,
  name: 'aim',
  writes: ['target'],
  config: strict<object>({}),
  open: opened,
  native: {
    ...contract,
    step: strict<{ models: string[] }>({ models: { type: 'array', items: { type: 'string' } } }),
    act: ({ models }): Acting => ({
      decide: () => pass({ target: models.map((model): Target => ({ runner: 'r', model })) }),
    }),
  },
})

/** Speaks up while an answer is made, and decides nothing. */
const shout = defineLayer({
  ...plain,
  name: 'shout',
  config: strict<object>({}),
  open: opened,
  native: {
    ...contract,
    arms: true,
    step: strict<{ forbids?: string }>({ forbids: { type: 'string' } }),
    act: ({ forbids }): Acting => ({
      settle: (_call, reply) => reply.through({ push: (chunk) => shouted(chunk, forbids) }),
    }),
  },
})

function shouted(chunk: Chunk, forbids: string | undefined): Chunk {
  const choices = chunk.choices?.map((choice) => {
    const content = choice.delta?.content
    if (typeof content !== 'string') return choice
    if (forbids !== undefined && content.includes(forbids)) throw gatewayError('output_invalid', 'forbidden word')
    return { ...choice, delta: { ...choice.delta, content: content.toUpperCase() } }
  })
  return { ...chunk, ...(choices ? { choices } : {}) }
}

/** Has no half here. */
const home = defineLayer({ ...plain, name: 'home', config: strict<object>({}), open: opened })

/** The layers that the tests of execution fold. */
export const testLayers: readonly Layer[] = [who, count, aim, shout, home]
