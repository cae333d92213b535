import type { Body, Engine, ModelCard } from '../engine.ts'
import { isObject, stringField } from '../fields.ts'
import type { Meter } from '../meter.ts'
import { refusal } from '../refusal.ts'

/** A request as routes see it. */
export interface Asked {
  /** The parsed body; undefined for GET. */
  readonly body: unknown
  readonly params: Readonly<Record<string, string>>
  /** Aborts when the client is gone or the runner stops. */
  readonly signal: AbortSignal
}

/** What a route answers. Text and iterables go out as they are, objects as JSON. */
export interface Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: object | string | AsyncIterable<string>
}

/** What routes may use. */
export interface Room {
  readonly engine: Engine
  readonly meter: Meter
  /** True once the runner is told to stop. */
  draining(): boolean
}

/** One endpoint. */
export interface Route {
  readonly method: 'GET' | 'POST'
  readonly path: string
  answer(asked: Asked, room: Room): Promise<Answer>
}

/** The body as an object. Throws `invalid_value` for anything else. */
export function bodyFrom(asked: Asked): Body {
  if (!isObject(asked.body)) throw refusal('invalid_value', 'the body must be a JSON object')
  return asked.body
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
