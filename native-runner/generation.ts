import type { Body, Engine, Job, ModelCard, Piece, TraceHeaders } from './engine.ts'
import { booleanField, invalid, objectField, stringField } from './fields.ts'
import type { Meter } from './meter.ts'
import { refusal } from './refusal.ts'
import { createEnvelope, type Envelope } from './wire.ts'

/** What is to be generated, and for how long. */
export interface Wish {
  readonly kind: Job['kind']
  readonly body: Body
  readonly signal: AbortSignal
  /** Of the request, names in lower case. */
  readonly headers?: Readonly<Record<string, string | undefined>>
  /** Streams bear a usage chunk although the client did not ask for one. Default false. */
  readonly metered?: boolean
}

/** A generation that can begin: nothing is made before the first piece is asked for. */
export interface Generation {
  readonly streamed: boolean
  readonly envelope: Envelope
  readonly pieces: AsyncIterable<Piece>
}

/** What makes the pieces, and counts them. */
export interface Maker {
  readonly engine: Engine
  readonly meter: Pick<Meter, 'counted'>
}

/** A body as a generation. Throws a refusal naming the member at fault, `engine_unavailable` and `model_not_found`. */
export async function generationFrom(
  { kind, body, signal, headers = {}, metered = false }: Wish,
  { engine, meter }: Maker,
): Promise<Generation> {
  const streamed = booleanField(body, 'stream')
  const includeUsage = includeUsageFrom(body, streamed)
  const required = kind === 'chat' ? 'messages' : 'prompt'
  if (body[required] === undefined || body[required] === null)
    throw refusal('missing_parameter', `${required} is missing`, { param: required })
  const trace = traceFrom(headers)
  const job: Job = { kind, body, scope: scopeFrom(body), ...(trace ? { trace } : {}) }
  const { id } = await modelFrom(body, engine)
  const envelope = { ...createEnvelope(kind, id, includeUsage), metered }
  return { streamed, envelope, pieces: meter.counted(engine.generate(job, signal)) }
}

/** The trace that a request stands in, by its headers; undefined where it came without. */
export function traceFrom({ traceparent, tracestate }: NonNullable<Wish['headers']>): TraceHeaders | undefined {
  if (traceparent === undefined) return undefined
  return { traceparent, ...(tracestate === undefined ? {} : { tracestate }) }
}

/**
 * The model a body names; the first one served when it names none. Throws `engine_unavailable` while the engine is not
 * ready and `model_not_found` for a model that is not served.
 */
export async function modelFrom(body: Body, engine: Engine): Promise<ModelCard> {
  const named = stringField(body, 'model')
  if (engine.state() !== 'ready')
    throw refusal('engine_unavailable', 'the engine is not ready', { retryAfterSeconds: 1 })
  const cards = await engine.models()
  const card = named === undefined ? cards[0] : cards.find(({ id }) => id === named)
  if (card) return card
  const served = cards.map(({ id }) => id).join(', ') || 'none'
  throw refusal('model_not_found', `model ${JSON.stringify(named ?? '')} is not served here (served: ${served})`, {
    param: 'model',
  })
}

/** Whose cached prompts a call may meet: `cache_salt`, else `user`, else everybody's. */
function scopeFrom(body: Body): string {
  return stringField(body, 'cache_salt') ?? stringField(body, 'user') ?? ''
}

function includeUsageFrom(body: Body, streamed: boolean): boolean {
  const options = objectField(body, 'stream_options')
  if (options === undefined) return false
  if (!streamed) throw invalid('stream_options', 'is only allowed when stream is true')
  if (options['include_usage'] !== undefined && typeof options['include_usage'] !== 'boolean')
    throw invalid('stream_options.include_usage', 'must be a boolean')
  return options['include_usage'] === true
}
