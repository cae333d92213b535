import type { Call } from '../call.ts'
import type { ChatRequest } from '../chat.ts'
import type { Again } from '../layer.ts'
import type { Reply } from '../reply.ts'
import type { Prepared } from './rule.ts'
import { callingRequest, createUsageAdder, namedTool } from './two-phase-tools.ts'

/** A call whose answer needs more than passing on. */
export interface Started {
  readonly prepared: Prepared
  /** The request as it would go without the first of two phases. */
  readonly request: ChatRequest
}

/** One call whose tool is named first. */
export interface SecondPhase {
  readonly call: Call
  readonly so: Started
  /** The names of its tools. */
  readonly naming: readonly string[]
}

/** Asks again, with the tool chosen that the first answer names; a runner that cannot hold to a schema is asked in one go. */
export async function secondPhase({ call, so, naming }: SecondPhase, reply: Reply, again: Again): Promise<Reply> {
  if (!reply.ok) {
    // A runner that cannot hold an answer to a schema says so; it can still be asked in one go.
    if (reply.status !== 400 && reply.status !== 422) return reply
    for await (const _ of reply.bytes());
    return again(call.with({}, so.request))
  }
  const { completion } = await reply.collect()
  const tool = namedTool(completion, so.request, naming)
  const answer = await again(call.with({}, callingRequest(so.request, tool)))
  return completion.usage ? answer.through(createUsageAdder(completion.usage)) : answer
}
