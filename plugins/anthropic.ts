import { chatFromTurn, textOfBlocks } from './anthropic-content.ts'
import { type MessagesRequest, messagesRequestFrom } from './anthropic-request.ts'
import { chatFromTools } from './anthropic-tools.ts'
import type { ChatRequest, Message } from './chat.ts'

export { type AnthropicMessage, messageFromCompletion } from './anthropic-message.ts'
export { createMessageStream, type MessageStream } from './anthropic-stream.ts'

/**
 * A parsed body of Anthropic's messages route as a chat request. Members that chat has no word for (`cache_control`, `thinking`,
 * `service_tier`, unknown ones) are let through by the check but not handed on, since chat servers may refuse what they do not know;
 * `execution_context` goes on as it is. Throws `invalid_request` naming the field in Anthropic's spelling, such as
 * `messages.0.content.1.type`.
 */
export function chatFromMessages(body: unknown): ChatRequest {
  const request = messagesRequestFrom(body)
  return {
    model: request.model,
    messages: chatMessages(request),
    max_tokens: request.max_tokens,
    ...sampling(request),
    ...chatFromTools(request),
    ...output(request),
    ...(request.stream ? { stream: true, stream_options: { include_usage: true } } : {}),
    ...(request.execution_context === undefined ? {} : { execution_context: request.execution_context }),
  }
}

function chatMessages({ system, messages }: MessagesRequest): Message[] {
  const chat: Message[] = []
  const prompt = typeof system === 'string' ? system : textOfBlocks(system ?? [], 'system')
  if (prompt) chat.push({ role: 'system', content: prompt })
  for (let i = 0; i < messages.length; i++) chat.push(...chatFromTurn(messages[i]!, `messages.${i}`))
  return chat
}

function sampling(request: MessagesRequest): Partial<ChatRequest> {
  const { temperature, top_p, top_k, stop_sequences: stop, metadata } = request
  const said: Record<string, unknown> = {}
  if (typeof temperature === 'number') said['temperature'] = temperature
  if (typeof top_p === 'number') said['top_p'] = top_p
  // Not OpenAI's, but vLLM, SGLang and llama.cpp know it, and who sends it wants it.
  if (typeof top_k === 'number') said['top_k'] = top_k
  if (stop && stop.length > 0) said['stop'] = stop
  if (typeof metadata?.user_id === 'string') said['user'] = metadata.user_id
  return said
}

const efforts: Readonly<Record<string, string>> = {
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'high',
  max: 'high',
}

function output({ output_config: config }: MessagesRequest): Partial<ChatRequest> {
  const effort = Object.hasOwn(efforts, config?.effort ?? '') ? efforts[config?.effort as string] : undefined
  const schema = config?.format?.schema
  return {
    ...(effort === undefined ? {} : { reasoning_effort: effort }),
    ...(schema === undefined
      ? {}
      : { response_format: { type: 'json_schema', json_schema: { name: 'output', strict: true, schema } } }),
  }
}
