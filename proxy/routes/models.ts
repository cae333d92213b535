import { replyFromBytes } from '../../plugins/reply.ts'
import { through } from '../../plugins/stack.ts'
import { type Answer, writeAnswer } from '../answer.ts'
import { openai } from '../dialect.ts'
import type { Rooms } from '../rooms.ts'
import type { Setup } from '../setup.ts'
import { beginVisit, callOf, finish, frameOf, type Http } from '../visit.ts'

const kind = { route: 'models', dialect: openai, path: '/v1/models' } as const

/** `GET /v1/models`: what the runners serve, or, with routing on, the models that callers may name. Behind auth and request limits. */
export async function serveModels(rooms: Rooms, http: Http): Promise<void> {
  const visit = beginVisit(rooms, kind, http)
  const { setup, caller, record } = visit
  const error = await writeAnswer(frameOf(rooms, visit), async () => {
    const call = callOf(visit, Buffer.alloc(0))
    const reply = await through(setup.seating('models').seats, call, {
      inside: async () => {
        const body = Buffer.from(JSON.stringify({ object: 'list', data: await listModels(setup, caller.signal) }))
        return replyFromBytes({ status: 200, streamed: false, source: 'layer' }, 'opaque', [body])
      },
      witness: record,
    })
    return {
      status: reply.status,
      headers: reply.headers,
      streamed: false,
      whole: () => reply.whole(),
    } satisfies Answer
  })
  finish(rooms, visit, error)
}

interface Model {
  readonly id: string
  readonly [member: string]: unknown
}

async function listModels(setup: Setup, signal: AbortSignal): Promise<Model[]> {
  const served = new Map<string, Model>()
  for (const { runner, body } of await setup.runners.getAll('/v1/models', signal)) {
    for (const model of modelsOf(body)) if (!served.has(model.id)) served.set(model.id, { ...model, owned_by: runner })
  }
  const configured = setup.host.models
  if (configured.length === 0) return [...served.values()]
  return configured.map((id) => served.get(id) ?? { id, object: 'model', created: 0, owned_by: 'foldgate' })
}

function modelsOf(body: Buffer): readonly Model[] {
  try {
    const { data: list } = JSON.parse(body.toString('utf8')) as { data?: unknown }
    return Array.isArray(list) ? list.filter((each): each is Model => typeof each?.id === 'string') : []
  } catch {
    return []
  }
}
