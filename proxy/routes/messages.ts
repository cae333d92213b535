import { chatFromMessages, createMessageStream, messageFromCompletion } from '../../plugins/anthropic.ts'
import type { Call } from '../../plugins/call.ts'
import { jsonFromBody } from '../../plugins/chat.ts'
import { type ErrorCode, errorKinds, gatewayError } from '../../plugins/errors.ts'
import type { Reply } from '../../plugins/reply.ts'
import { wholeBody } from '../../plugins/reply-bytes.ts'
import type { Answer } from '../answer.ts'
import { anthropic } from '../dialect.ts'
import type { InferenceRoute } from './inference.ts'

/** `POST /v1/messages` (Anthropic): translated on the way in, so that layers and runners see a chat, and back on the way out. */
export const messages: InferenceRoute = {
  route: 'messages',
  path: '/v1/messages',
  dialect: anthropic,
  toCall: (call) => call.with({}, chatFromMessages(jsonFromBody(call.body))),
  toAnswer,
}

async function toAnswer(reply: Reply, call: Call): Promise<Answer> {
  const { status, headers } = reply
  const model = call.request.model
  if (!reply.ok) throw await runnersRefusal(reply)
  if (reply.streamed) return { status, headers, streamed: true, parts: translated(reply, model) }
  const { completion } = await reply.collect()
  const message = Buffer.from(JSON.stringify(messageFromCompletion(completion, model)))
  return { status, headers, streamed: false, whole: async () => message }
}

async function* translated(reply: Reply, model: string): AsyncGenerator<string> {
  const stream = createMessageStream(model)
  for await (const { chunks, commented } of reply.batches()) {
    let text = commented && chunks.length === 0 ? ':\n' : ''
    for (const chunk of chunks) text += stream.push(chunk)
    if (text) yield text
  }
  const rest = stream.end()
  if (rest) yield rest
}

/**
 * What the runner refused in OpenAI's dialect, as our error, so that it is said again in Anthropic's: a layer's refusal with its own code and
 * headers, anything else as an invalid request.
 */
async function runnersRefusal(reply: Reply) {
  const body = await wholeBody(reply.bytes())
  const { status, headers } = reply
  try {
    const said = JSON.parse(body.toString('utf8')) as { error?: { message?: unknown; code?: unknown } }
    const message = said.error?.message
    const code = said.error?.code
    const known = typeof code === 'string' && Object.hasOwn(errorKinds, code) ? (code as ErrorCode) : 'invalid_request'
    if (typeof message === 'string') {
      const { 'content-type': _, ...rest } = headers
      return gatewayError(known, message.slice(0, 500), { status, headers: rest })
    }
  } catch {
    // Not JSON: the status is all there is to say.
  }
  return gatewayError('invalid_request', `the runner refused the request (${status})`, { status })
}
