import type { Policy } from '../../plugins/policy.ts'
import type { Body, Engine } from '../engine.ts'
import type { Execution } from '../execution.ts'
import { isObject } from '../fields.ts'
import type { Meter } from '../meter.ts'
import { refusal } from '../refusal.ts'

/** A request as routes see it. */
export interface Asked {
  /** The body as JSON, parsed on first use; undefined when there is none. Throws `invalid_json`. */
  readonly body: unknown
  /** The bytes of the body as they came; empty when there are none. */
  readonly raw: Buffer
  /** Request headers, names in lower case, repeated ones joined by `, `. */
  readonly headers: Readonly<Record<string, string>>
  readonly params: Readonly<Record<string, string>>
  /** Aborts when the client is gone or the runner stops. */
  readonly signal: AbortSignal
}

/** What a route answers. Text, bytes and iterables go out as they are, objects as JSON. */
export interface Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: object | string | Buffer | AsyncIterable<string | Buffer>
  /** Trailers of a streamed body, asked for when it has ended; undefined: there is none after all. */
  readonly trailers?: Readonly<Record<string, () => string | undefined>>
}

/** What routes may use. */
export interface Room {
  readonly engine: Engine
  readonly meter: Meter
  readonly execution: Execution
  /** True once the runner is told to stop. */
  draining(): boolean
}

/** One endpoint. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  /** The routes of policies whose calls arrive here: with a context, their layers are executed. */
  readonly executes?: readonly Policy['route'][]
  /** Who may ask is told by a signature of its own, not by the API key. */
  readonly signed?: boolean
  answer(asked: Asked, room: Room): Promise<Answer>
}

/** The body as an object. Throws `invalid_value` for anything else. */
export function bodyFrom(asked: Asked): Body {
  if (!isObject(asked.body)) throw refusal('invalid_value', 'the body must be a JSON object')
  return asked.body
}
