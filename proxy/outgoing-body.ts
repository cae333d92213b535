import type { Call } from '../plugins/call.ts'
import type { ChatRequest } from '../plugins/chat.ts'

/** What of the request is settled only when a target is known. */
export interface BodyWishes {
  /** The model's name at the target; undefined keeps what the caller wrote. */
  readonly model: string | undefined
  /** Whether a stream is asked to report its usage: always, never, or where the caller did. */
  readonly usage: 'always' | 'never' | 'as-asked'
}

/**
 * The bytes to send. They are the caller's own, spliced, unless the model's name has to change; asking for usage is an insertion, not a
 * re-serialisation.
 */
export function bodyForTarget(call: Call, wishes: BodyWishes): Buffer {
  const renames = wishes.model !== undefined && call.request.model !== wishes.model
  const asks = wishes.usage === 'always' && call.request.stream === true && !asksForUsage(call.request)
  const drops = wishes.usage === 'never' && 'stream_options' in call.request
  if (!renames && !asks && !drops) return call.body
  if (!renames && !drops && call.untouched && !('stream_options' in call.request)) return withUsageSpliced(call.body)
  const { stream_options: asked, ...rest } = call.request
  const options = asks ? { ...asked, include_usage: true } : asked
  const name = renames ? { model: wishes.model } : {}
  return Buffer.from(JSON.stringify({ ...rest, ...(options && !drops ? { stream_options: options } : {}), ...name }))
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
