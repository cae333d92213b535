/** A JSON object as it came off the wire. */
export type Body = Readonly<Record<string, unknown>>

/** One generation to do: a chat or a raw completion, with the client's own body. */
export interface Job {
  readonly kind: 'chat' | 'completion'
  readonly body: Body
  /** Calls of different scopes never share cached prompt state. */
  readonly scope: string
  /** The call's place in its trace; absent: it came without. */
  readonly trace?: TraceHeaders
}

/** W3C Trace Context as it came. A runner makes no spans: an engine that is a server of its own stands where the runner was told to. */
export interface TraceHeaders {
  readonly traceparent: string
  readonly tracestate?: string
}

/** What a choice gained: `content`, or any other member an engine behind us sent (`tool_calls`, `reasoning_content`). */
export interface Delta {
  readonly content?: string
  readonly [member: string]: unknown
}

/** Token counts in the OpenAI dialect. `completion_tokens` leaves out the end-of-text token. */
export interface Usage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly prompt_tokens_details?: { readonly cached_tokens?: number }
  readonly [member: string]: unknown
}

/** One step of a generation. Every choice ends in one `finish`; one `usage` comes last. */
export type Piece =
  | {
      readonly kind: 'delta'
      readonly index: number
      readonly delta: Delta
      readonly tokens: number
      readonly logprobs?: unknown
    }
  | { readonly kind: 'finish'; readonly index: number; readonly reason: string }
  | { readonly kind: 'usage'; readonly usage: Usage }

/** A model an engine serves. */
export interface ModelCard {
  readonly id: string
  /** Unix seconds. */
  readonly created: number
  /** Prompt and answer together, in tokens; absent where the engine does not say. */
  readonly contextTokens?: number
}

/** The tokens a prompt becomes. */
export interface Tokenized {
  readonly tokens: readonly number[]
  readonly contextTokens?: number
}

/** One vector an input, and what they cost. */
export interface Embedded {
  readonly vectors: readonly (readonly number[])[]
  readonly promptTokens: number
}

/** How busy an engine is: calls generating, calls waiting, and places free. */
export interface Load {
  readonly running: number
  readonly queued: number
  readonly free: number
}

/**
 * What makes tokens. `generate` does nothing before its first `next()`, throws `Refusal` before the first piece for
 * calls it will not serve, makes tokens only as they are asked for (so a slow reader slows it down), and stops when
 * `signal` aborts or the iterator is returned.
 */
export interface Engine {
  readonly name: 'llama' | 'openai' | 'echo'
  /** Version of what makes the tokens, once it is known; absent or undefined: nobody says. */
  version?(): string | undefined
  /** `down` while a crashed engine comes back. */
  state(): 'starting' | 'ready' | 'down'
  /** Resolves when ready; throws `Refusal` when it cannot be. */
  start(): Promise<void>
  models(): Promise<readonly ModelCard[]>
  generate(job: Job, signal: AbortSignal): AsyncIterable<Piece>
  tokenize(body: Body, signal: AbortSignal): Promise<Tokenized>
  embed(body: Body, signal: AbortSignal): Promise<Embedded>
  load(): Load
  close(): Promise<void>
}

/** The usage of one call from its counts, in tokens. */
export function usageFrom(prompt: number, completion: number, cached: number): Usage {
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached },
  }
}
