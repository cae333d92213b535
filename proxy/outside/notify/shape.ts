import type { Notice } from './notice.ts'

/** What a message is made with beside the notice. */
export interface ShapeContext {
  /** Name of this service in telemetry. */
  readonly service: string
  /** The same for every try of one notice. */
  readonly id: string
  /** Seconds since the epoch, now. */
  readonly nowSeconds: number
  /** With `#KIND`; null: there is none. */
  readonly runbook: string | null
  /** What the shape needs of it: a key, a routing key, a token. Empty where there is none. */
  readonly secret: Buffer
}

/** One HTTP POST. */
export interface Message {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Makes the message of a notice in one form; undefined: this form has nothing to say of it. */
export type Shape = (notice: Notice, context: ShapeContext) => Message | undefined

/** A message that is JSON. */
export function jsonMessage(value: unknown, headers: Readonly<Record<string, string>> = {}): Message {
  return { headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(value) }
}

/** A text of at most `most` characters. */
export function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`
}
