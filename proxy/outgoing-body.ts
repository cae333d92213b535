import type { Call } from '../plugins/call.ts'
import type { ChatRequest } from '../plugins/chat.ts'

/** What of the request is settled only when a target is known. */
export interface BodyWishes {
  /** The model's name at the target; undefined keeps what the caller wrote. */
  readonly model: string | undefined
  /** Ask a stream to report its usage. */
  readonly usage: boolean
}

/**
 * The bytes to send. They are the caller's own, spliced, unless the model's name has to change; asking for usage is an insertion, not a
 * re-serialisation.
 */
export function bodyForTarget(call: Call, wishes: BodyWishes): Buffer {
  const renames = wishes.model !== undefined && call.request.model !== wishes.model
  const asks = wishes.usage && call.request.stream === true && !asksForUsage(call.request)
  if (!renames && !asks) return call.body
  if (!renames && call.untouched && !('stream_options' in call.request)) return withUsageSpliced(call.body)
  const options = asks ? { stream_options: { ...call.request.stream_options, include_usage: true } } : {}
  return Buffer.from(JSON.stringify({ ...call.request, ...options, ...(renames ? { model: wishes.model } : {}) }))
}

/** The caller itself asked for the usage chunk. */
export function asksForUsage(request: ChatRequest): boolean {
  return request.stream_options?.include_usage === true
}

const usageMember = Buffer.from('"stream_options":{"include_usage":true},')

function withUsageSpliced(body: Buffer): Buffer {
  const brace = body.indexOf(0x7b)
  return Buffer.concat([body.subarray(0, brace + 1), usageMember, body.subarray(brace + 1)])
}
