import type { Call } from '../plugins/call.ts'
import { jsonFromBody } from '../plugins/chat.ts'
import { withoutDirectives } from '../plugins/directives.ts'
import { type ErrorCode, type GatewayError, gatewayError } from '../plugins/errors.ts'
import { type Reply, replyFromBytes } from '../plugins/reply.ts'
import type { Body, Usage } from './engine.ts'
import { isObject } from './fields.ts'
import { type Generation, generationFrom } from './generation.ts'
import { bodyFromRefusal, isRefusal, type Refusal, refusal, refusalFrom } from './refusal.ts'
import type { Room, Route } from './routes/route.ts'
import { begun, streamHeaders, wholeEvents } from './stream.ts'
import { wholeFromPieces } from './whole.ts'

/** What the engine spent on a call, in tokens: all its generations together. */
export interface Spent {
  readonly in: number
  readonly out: number
  readonly cached: number
}

/** The engine, as what is inside all layers. */
export interface Inside {
  answer(call: Call): Promise<Reply>
  /** What was spent so far; undefined when no generation has come to its end. */
  spent(): Spent | undefined
}

/** What the engine is asked through. */
export interface InsideParts {
  readonly room: Pick<Room, 'engine' | 'meter' | 'execution' | 'draining'>
  /** The endpoint that the call arrived at. */
  readonly route: Route
  /** Hears what each generation used. */
  readonly onUsage: (usage: Usage) => void
  /** Streams bear a usage chunk for the layers, although the client did not ask for one. */
  readonly metered: boolean
  /** Members of the body that a layer here enforces itself: an engine that refuses one is asked once more without it. */
  readonly enforces: readonly string[]
}

/** Makes the {@link Inside} of one call. What the engine refuses is thrown as `GatewayError` with the refusal as its cause. */
export function createInside(parts: InsideParts): Inside {
  let spent: Spent | undefined
  const note = (usage: Usage): void => {
    parts.onUsage(usage)
    const { prompt_tokens = 0, completion_tokens = 0, prompt_tokens_details } = usage
    const cached = prompt_tokens_details?.cached_tokens ?? 0
    const { in: before = 0, out = 0, cached: cachedBefore = 0 } = spent ?? {}
    spent = { in: before + prompt_tokens, out: out + completion_tokens, cached: cachedBefore + cached }
  }
  return {
    spent: () => spent,
    async answer(call) {
      try {
        return await answer(call, { ...parts, without: [] }, note)
      } catch (reason) {
        const without = refusedMembers(reason, parts.enforces)
        if (without.length === 0) throw errorFromEngine(reason, call.signal)
        return answer(call, { ...parts, without }, note).catch((again: unknown) => {
          throw errorFromEngine(again, call.signal)
        })
      }
    },
  }
}

type Note = (usage: Usage) => void

/** The members among those given that an engine has refused. Nothing was made by then: what it refuses it refuses at once. */
function refusedMembers(reason: unknown, members: readonly string[]): readonly string[] {
  if (!isRefusal(reason) || (reason.status !== 400 && reason.status !== 422)) return []
  const said = `${reason.message} ${JSON.stringify(bodyFromRefusal(reason))}`
  return members.filter((member) => said.includes(member))
}

interface Asking extends InsideParts {
  /** Members that the engine is not told. */
  readonly without: readonly string[]
}

async function answer(call: Call, parts: Asking, note: Note): Promise<Reply> {
  if (call.route === 'embeddings' || call.route === 'models') return document(call, parts, note)
  const told = withoutDirectives(withTarget(call, await served(parts)))
  const body = Object.fromEntries(Object.entries(told).filter(([member]) => !parts.without.includes(member)))
  const kind = call.route === 'completions' ? 'completion' : 'chat'
  const { signal, headers } = call
  const wish = { kind, body, signal, headers, metered: parts.metered } as const
  const generation = await generationFrom(wish, parts.room)
  const made = { ...generation, pieces: noting(generation.pieces, note) }
  const { streamed, envelope } = made
  const init = {
    status: 200,
    streamed,
    includeUsage: envelope.includeUsage,
    source: 'runner',
    target: {
      runner: call.facts.target?.find(({ model }) => model === envelope.model)?.runner ?? '',
      model: envelope.model,
    },
  } as const
  if (!streamed) return replyFromBytes(init, 'json', [bytesOf(await wholeFromPieces(envelope, made.pieces))])
  const events = bytesFromEvents({ ...made, pieces: await begun(made.pieces, call.signal) }, call.signal)
  const reply = replyFromBytes({ ...init, headers: streamHeaders }, 'events', events)
  // Looked at, so that the usage chunk which the client did not ask for stays here.
  return parts.metered && !envelope.includeUsage ? reply.observe({ chunk: () => undefined }) : reply
}

async function served({ room }: InsideParts): Promise<ReadonlySet<string>> {
  return new Set(room.engine.state() === 'ready' ? (await room.engine.models()).map(({ id }) => id) : [])
}

/** The request with the model of the first target that is served here; with the first target's where none is. */
function withTarget(call: Call, models: ReadonlySet<string>): Body {
  const request = call.parsed ? call.request : requestFrom(call)
  const named = call.facts.target?.filter(({ model }) => model !== '') ?? []
  const model = (named.find((each) => models.has(each.model)) ?? named[0])?.model
  return model === undefined || model === request['model'] ? request : { ...request, model }
}

/** Where no layer read the request, what is wrong with it is the engine's to say. */
function requestFrom({ body }: Call): Body {
  const value = jsonFromBody(body)
  if (isObject(value)) return value
  throw refusal('invalid_value', 'the body must be a JSON object')
}

/** An endpoint that answers one document, such as embeddings. */
async function document(call: Call, { room, route }: InsideParts, note: Note): Promise<Reply> {
  const bodiless = route.method === 'GET'
  const body = bodiless ? undefined : withoutDirectives(withTarget(call, await served({ room } as InsideParts)))
  const asked = { body, raw: call.body, headers: {}, params: {}, signal: call.signal }
  const said = (await route.answer(asked, room)).body
  if (isObject(said) && isObject(said['usage'])) note(said['usage'] as Usage)
  const init = { status: 200, streamed: false, source: 'runner' } as const
  return replyFromBytes(init, bodiless ? 'opaque' : 'json', [bytesOf(said as object)])
}

async function* noting(pieces: Generation['pieces'], note: Note): Generation['pieces'] {
  for await (const piece of pieces) {
    if (piece.kind === 'usage') note(piece.usage)
    yield piece
  }
}

async function* bytesFromEvents({ envelope, pieces }: Generation, signal: AbortSignal): AsyncGenerator<Buffer> {
  try {
    for await (const event of wholeEvents(envelope, pieces, signal)) yield Buffer.from(event)
  } catch (reason) {
    throw errorFromEngine(reason, signal)
  }
}

function bytesOf(document: object): Buffer {
  return Buffer.from(JSON.stringify(document))
}

const codes: Partial<Record<Refusal['code'], ErrorCode>> = {
  context_length_exceeded: 'context_length_exceeded',
  model_not_found: 'model_not_found',
  queue_full: 'no_capacity',
  client_closed: 'client_closed',
  upstream_timeout: 'runner_timeout',
  engine_unavailable: 'runner_unreachable',
}

/** What the engine refused or failed with, as layers see it. Its status stays, and the refusal is the cause. */
function errorFromEngine(reason: unknown, signal: AbortSignal): GatewayError | unknown {
  const cause = signal.aborted ? signal.reason : reason
  if (!isRefusal(cause) && !(reason instanceof Error && reason.name !== 'GatewayError')) return reason
  const refused = refusalFrom(cause)
  const code = codes[refused.code] ?? (refused.status < 500 ? 'invalid_request' : 'runner_error')
  return gatewayError(code, refused.message, { status: refused.status, cause: refused })
}
