import type { Call } from '../plugins/call.ts'
import type { ChatRequest } from '../plugins/chat.ts'

/** What of the request is settled only when a target is known. */
export interface BodyWishes {
  /** The model's name at the target; undefined keeps what the caller wrote. */
  readonly model: string | undefined
  /** Whether a stream is asked to report its usage: always, never, or where the caller did. */
  readonly usage: 'always' | 'never' | 'as-asked'
  /** Members that are left out. */
  readonly without: readonly string[]
}

/**
 * The bytes to send. They are the caller's own, spliced, unless the model's name has to change or a member has to go; asking for usage is
 * an insertion, not a re-serialisation.
 */
export function bodyForTarget(call: Call, wishes: BodyWishes): Buffer {
  const renames = wishes.model !== undefined && call.request.model !== wishes.model
  const asks = wishes.usage === 'always' && call.request.stream === true && !asksForUsage(call.request)
  const dropped = wishes.usage === 'never' ? [...wishes.without, 'stream_options'] : wishes.without
  const drops = dropped.some((member) => member in call.request)
  if (!renames && !asks && !drops) return call.body
  if (!renames && !drops && call.untouched && !('stream_options' in call.request)) return withUsageSpliced(call.body)
  const { stream_options: asked } = call.request
  const request: Record<string, unknown> = { ...call.request }
  if (asks) request['stream_options'] = { ...asked, include_usage: true }
  if (renames) request['model'] = wishes.model
  for (const member of dropped) delete request[member]
  return Buffer.from(JSON.stringify(request))
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
