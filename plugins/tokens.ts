import type { Call } from './call.ts'
import type { ChatRequest, Usage } from './chat.ts'

/** How many tokens a request is thought to be, before it is run. */
export interface TokenEstimate {
  /** Prompt tokens. */
  readonly input: number
  /** How far off `input` may be, in tokens, either way: the estimator's own error for this model so far. */
  readonly error: number
  /** Output tokens to expect: what the request asks for at most times `n`, else the learned mean for the model. */
  readonly output: number
}

/** Counts tokens before a call (estimated) and learns from what the call really used. */
export interface TokenCounter {
  /** Synchronous and cheap: linear in the text, no parsing beyond `call.request`. Never throws on special tokens in user text. */
  estimate(request: ChatRequest): TokenEstimate
  /** Tokens of a text, for fitting a prompt into a context. */
  count(text: string, model: string): number
  /** The exact prompt count by a runner's `/tokenize`, or undefined when none can tell within `timeoutMs` (default 200). */
  exact(call: Call): Promise<number | undefined>
  /** Feeds back what a call really used. */
  learn(request: ChatRequest, usage: Usage): void
}
