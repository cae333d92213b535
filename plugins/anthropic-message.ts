import { randomBytes } from 'node:crypto'
import type { Message, ToolCall, Usage } from './chat.ts'
import type { Completion } from './chunks.ts'

/** Why an answer ended, in Anthropic's words; null when the runner did not say. */
export type StopReason = 'end_turn' | 'max_tokens' | 'stop_sequence' | 'tool_use' | 'refusal' | null

/** Tokens of one call, in Anthropic's words: `input_tokens` leaves out what was read from a cache. */
export interface AnthropicUsage {
  readonly input_tokens: number
  readonly cache_creation_input_tokens: number
  readonly cache_read_input_tokens: number
  readonly output_tokens: number
}

/** A content block of an answer. */
export type AnthropicBlock =
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | { readonly type: 'text'; readonly text: string; readonly citations: null }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly input: unknown }

/** A whole answer of Anthropic's messages route. */
export interface AnthropicMessage {
  readonly id: string
  readonly type: 'message'
  readonly role: 'assistant'
  readonly model: string
  readonly content: readonly AnthropicBlock[]
  readonly stop_reason: StopReason
  readonly stop_sequence: string | null
  readonly usage: AnthropicUsage
}

/** What a choice says about its end, in whole answers and in chunks. */
export interface ChoiceEnd {
  readonly finish_reason?: string | null
  readonly [member: string]: unknown
}

/** A chat completion as Anthropic's message. Its first choice counts; `model` is what the caller asked for. */
export function messageFromCompletion(completion: Completion, requestedModel: string): AnthropicMessage {
  const [choice] = completion.choices ?? []
  const message = choice?.message
  const content = message ? blocksFromMessage(message) : []
  const seen = { calls: (message?.tool_calls?.length ?? 0) > 0, refused: Boolean(refusalOf(message)) }
  return {
    id: messageId(completion.id),
    type: 'message',
    role: 'assistant',
    model: requestedModel,
    // Clients read the text of the first block without a look whether there is one.
    content: content.length > 0 ? content : [textBlock('')],
    ...stopFromChoice(choice ?? {}, seen),
    usage: usageFromChat(completion.usage),
  }
}

function blocksFromMessage(message: Message): AnthropicBlock[] {
  const blocks: AnthropicBlock[] = []
  const thinking = reasoningOf(message)
  if (thinking) blocks.push({ type: 'thinking', thinking, signature: '' })
  const { content } = message
  const text = typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join('')
  const said = text + refusalOf(message)
  if (said) blocks.push(textBlock(said))
  for (const call of message.tool_calls ?? []) blocks.push(toolUseFromCall(call))
  return blocks
}

function textBlock(text: string): AnthropicBlock {
  return { type: 'text', text, citations: null }
}

function toolUseFromCall(call: ToolCall): AnthropicBlock {
  const name = call.function?.name ?? ''
  return { type: 'tool_use', id: call.id || toolUseId(), name, input: inputFromArguments(argumentsOf(call)) }
}

function inputFromArguments(text: string): unknown {
  if (text.trim() === '') return {}
  try {
    const input: unknown = JSON.parse(text)
    if (input !== null && typeof input === 'object' && !Array.isArray(input)) return input
  } catch {
    // Falls through: a tool input must be an object, and what the model wrote must not get lost.
  }
  return { INVALID_JSON: text }
}

/** The arguments of a tool call as JSON text, also from servers that send them as an object; empty when there are none. */
export function argumentsOf(call: ToolCall): string {
  const said: unknown = call.function?.arguments
  if (typeof said === 'string') return said
  return said === undefined || said === null ? '' : JSON.stringify(said)
}

/** The reasoning of a message or delta (`reasoning_content`, or `reasoning` as some servers call it); empty when there is none. */
export function reasoningOf(message: { readonly [member: string]: unknown } | undefined): string {
  const said = message?.['reasoning_content'] ?? message?.['reasoning']
  return typeof said === 'string' ? said : ''
}

/** The refusal text of a message or delta (OpenAI); empty when there is none. */
export function refusalOf(message: { readonly [member: string]: unknown } | undefined): string {
  const said = message?.['refusal']
  return typeof said === 'string' ? said : ''
}

/** How a choice ended. `seen` is what came before: tool calls count even from servers that finish them with `stop`. */
export function stopFromChoice(
  choice: ChoiceEnd,
  seen: { readonly calls: boolean; readonly refused: boolean },
): Pick<AnthropicMessage, 'stop_reason' | 'stop_sequence'> {
  const plain = (stop_reason: StopReason) => ({ stop_reason, stop_sequence: null })
  switch (choice.finish_reason) {
    case undefined:
    case null:
      return plain(null)
    case 'length':
      return plain('max_tokens')
    case 'content_filter':
      return plain('refusal')
  }
  if (seen.refused) return plain('refusal')
  if (seen.calls) return plain('tool_use')
  // vLLM and SGLang say which stop sequence it was; others do not tell it from a natural end.
  const stop = choice['stop_reason'] ?? choice['matched_stop']
  if (typeof stop === 'string' && stop) return { stop_reason: 'stop_sequence', stop_sequence: stop }
  return plain('end_turn')
}

/** Chat usage as Anthropic's; zeros when the runner reported none. */
export function usageFromChat(usage: Usage | null | undefined): AnthropicUsage {
  const cached = usage?.prompt_tokens_details?.cached_tokens ?? 0
  return {
    input_tokens: Math.max(0, (usage?.prompt_tokens ?? 0) - cached),
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cached,
    output_tokens: usage?.completion_tokens ?? 0,
  }
}

/** A message id made of the completion's, or a random one. */
export function messageId(id: string | undefined): string {
  const rest = (id ?? '').replace(/^chatcmpl-/, '').replace(/[^A-Za-z0-9_-]/g, '')
  return `msg_${rest.slice(0, 64) || randomBytes(12).toString('hex')}`
}

/** An id for a tool call that came without one. */
export function toolUseId(): string {
  return `toolu_${randomBytes(12).toString('hex')}`
}
