import type { Call, Facts } from './call.ts'
import type { ChatRequest } from './chat.ts'
import type { GatewayError } from './errors.ts'
import type { Reply } from './reply.ts'

/** Go on, with what was learned, and with the request rewritten where the layer rewrites. */
export interface Pass {
  readonly kind: 'pass'
  readonly facts: Partial<Facts>
  /** The request as it goes further in; absent: unchanged, and its bytes stay what they were. */
  readonly request?: ChatRequest
}

/** Answer now: nothing further in is asked. */
export interface Answer {
  readonly kind: 'answer'
  readonly reply: Reply
}

/** Refuse: the caller gets the error in the dialect of its route. */
export interface Refuse {
  readonly kind: 'refuse'
  readonly error: GatewayError
}

/** A layer's answer to a call. Data, so that the two halves of a layer can be compared exactly. */
export type Verdict = Pass | Answer | Refuse

const nothingNew: Pass = { kind: 'pass', facts: {} }

/** A verdict that lets the call go on. */
export function pass(facts?: Partial<Facts>, request?: ChatRequest): Pass {
  if (request) return { kind: 'pass', facts: facts ?? {}, request }
  return facts ? { kind: 'pass', facts } : nothingNew
}

/** A verdict that answers the call. */
export function answer(reply: Reply): Answer {
  return { kind: 'answer', reply }
}

/** A verdict that refuses the call. */
export function refuse(error: GatewayError): Refuse {
  return { kind: 'refuse', error }
}

/** The call as the layers further in see it after this pass. The call itself when nothing changed. */
export function afterPass(call: Call, verdict: Pass): Call {
  if (verdict === nothingNew) return call
  return call.with(verdict.facts, verdict.request)
}
