/** Headers by lower-case name. */
export type Headers = Readonly<Record<string, string>>

/** One message of a chat, as far as the chain knows it. */
export interface ChainMessage {
  readonly role: string
  readonly content: string
}

/** A chat request. Members that no service knows go through. */
export interface ChainRequest {
  readonly model: string
  readonly messages: readonly ChainMessage[]
  readonly max_tokens?: number
  readonly stream?: boolean
  readonly [member: string]: unknown
}

/** A chat answer. Members that no service knows go through. */
export interface ChainAnswer {
  readonly model: string
  readonly choices: readonly ChainChoice[]
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number; readonly total_tokens: number }
  readonly [member: string]: unknown
}

/** One choice of an answer. */
export interface ChainChoice {
  readonly message: ChainMessage
  readonly finish_reason: string | null
  readonly [member: string]: unknown
}

/** A request as a service hears it. */
export interface Heard {
  readonly path: string
  readonly headers: Headers
  /** Length of the body in bytes. */
  readonly bytes: number
  /** Parsed on first use. Throws a `SyntaxError` for what is no JSON. */
  readonly body: ChainRequest
}

/** An answer as it comes back from further in. */
export interface Returned {
  readonly status: number
  readonly headers: Headers
  /** The body as it came. */
  readonly text: string
  /** Parsed on first use; only where `status` is 200. Throws a `SyntaxError` for what is no JSON. */
  readonly body: ChainAnswer
}

/** An answer as it is sent. */
export interface Answered {
  readonly status: number
  readonly text: string
  readonly headers?: Headers
}

/** A request is answered here, and nothing further in hears of it. */
export interface AnsweredHere extends Answered {
  readonly kind: 'answer'
}

/** What a service makes of a request: it goes on, changed or not, or is answered here. */
export type Decision<Kept> =
  | AnsweredHere
  | { readonly kind: 'pass'; readonly kept: Kept; readonly body?: ChainRequest; readonly headers?: Headers }

/** What a service changes in an answer on its way back. */
export interface Change {
  readonly body?: ChainAnswer
  /** Added to those of the answer. */
  readonly headers?: Headers
}

/** What is special to one service of the chain; everything else is `service.ts`. */
export interface Service<Kept> {
  /** On the way in. `kept` comes back with the answer. Headers given replace those of the request, else they go on as they are. */
  request(heard: Heard): Decision<Kept> | Promise<Decision<Kept>>
  /** On the way back, also with what failed further in. Undefined: the answer goes on as it is. */
  answer?(returned: Returned, kept: Kept): Change | undefined
  /** Throws when something that it needs does not answer. */
  healthy?(): Promise<unknown>
  /** Gives back what it holds open. */
  close?(): Promise<unknown>
}

/** An error in the shape that callers of a chat API know. */
export function errorAnswer(status: number, message: string, headers?: Headers): AnsweredHere {
  const text = JSON.stringify({ error: { message, type: 'chain', code: status } })
  return { kind: 'answer', status, text, ...(headers ? { headers } : {}) }
}
