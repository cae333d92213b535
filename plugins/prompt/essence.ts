import type { ChatRequest } from '../chat.ts'
import type { Verdict } from '../verdict.ts'
import type { Fitted } from './fit.ts'

/** A request before it was made to fit. */
export interface Unfitted {
  /** Absent: the very request that came. */
  readonly request?: ChatRequest | undefined
  /** So long that whoever counts must leave some out. */
  readonly crowded: boolean
  readonly fitted?: Fitted
}

const unfitted = new WeakMap<Verdict, Unfitted>()

/** Keeps what a verdict was before the request was made to fit, for its essence. */
export function rememberUnfitted(verdict: Verdict, before: Unfitted): void {
  unfitted.set(verdict, before)
}

/**
 * What the two halves must agree on: the template, and the request as it was rendered, before it was made to fit; null where nothing
 * changed. What was left out is not in it, since each side counts with what it has learned; nor is a summary, which a model wrote and an
 * observer never asks for. Only where a request is so long that nobody could take it whole is it said whether anything was left out. Of a
 * refusal its code. The model and the stream options are not in it: no template writes them, and the gateway puts in the model that
 * routing chose and asks for usage, after its own half and before the runner's.
 */
export function promptEssence(verdict: Verdict): unknown {
  if (verdict.kind === 'refuse') return { kind: 'refuse', code: verdict.error.code }
  if (verdict.kind === 'answer') return { kind: 'answer' }
  const before = unfitted.get(verdict)
  const request = before ? before.request : verdict.request
  const template = verdict.facts.template ?? null
  const shortened = before?.crowded ? { shortened: before.fitted !== undefined } : {}
  return { kind: 'pass', template, request: request ? rendered(request) : null, ...shortened }
}

function rendered({
  model: _,
  stream_options: __,
  ...request
}: ChatRequest): Omit<ChatRequest, 'model' | 'stream_options'> {
  return request
}
