import type { Actor, Operations } from './operations.ts'

/** What an endpoint is asked with. */
export interface Question {
  readonly query: URLSearchParams
  /** What stands in the path where the endpoint's path has `:name`. */
  readonly params: Readonly<Record<string, string>>
  /** The JSON of a change; undefined for a GET. */
  readonly body: unknown
  readonly actor: Actor
  /** The `Accept` header; undefined: none. */
  readonly accept: string | undefined
  /** The digest that the caller holds already: `If-None-Match` (RFC 9110 §13.1.2). */
  readonly ifNoneMatch: string | undefined
  /** Aborts when the caller goes away or the listener closes. */
  readonly signal: AbortSignal
}

/** What goes back. */
export interface Answer {
  readonly status?: number
  readonly contentType?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Text and streams as they are; anything else as JSON. */
  readonly body: unknown
}

/** One endpoint of the admin port: GETs look, POSTs change. */
export interface Endpoint {
  readonly method: 'GET' | 'POST'
  /** A part `:name` stands for any one part of a path. */
  readonly path: string
  run(operations: Operations, question: Question): Answer | Promise<Answer>
}

/** Whether a path is one of an endpoint's. */
export function isPathOf(endpoint: Pick<Endpoint, 'path'>, path: string): boolean {
  const [pattern, asked] = [endpoint.path.split('/'), path.split('/')]
  return pattern.length === asked.length && pattern.every((part, at) => part.startsWith(':') || part === asked[at])
}
