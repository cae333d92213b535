import { createBlockWriter } from './anthropic-blocks.ts'
import {
  type ChoiceEnd,
  messageId,
  reasoningOf,
  refusalOf,
  stopFromChoice,
  usageFromChat,
} from './anthropic-message.ts'
import type { Chunk, ChunkChoice, Usage } from './chat.ts'
import { anthropicErrorBody, type GatewayError } from './errors.ts'
import { textFromEvent } from './sse.ts'

/** Turns chat chunks into the events of Anthropic's message stream, as text for the wire. */
export interface MessageStream {
  /** What one chunk adds; empty when nothing. */
  push(chunk: Chunk): string
  /** The end of an answer that came whole. `stop_reason` is null when the runner never gave a finish reason. */
  end(): string
  /** An error in band: the last event, whatever came before. */
  fail(error: GatewayError, requestId?: string): string
  /** A heartbeat, allowed at any time. */
  ping(): string
}

interface Progress {
  begun: boolean
  over: boolean
  refused: boolean
  end: ChoiceEnd
  usage: Usage | undefined
}

const pingText = textFromEvent({ event: 'ping', data: '{"type":"ping"}' })

/** Makes a {@link MessageStream}; `model` in it is what the caller asked for. */
export function createMessageStream(requestedModel: string): MessageStream {
  const so: Progress = { begun: false, over: false, refused: false, end: {}, usage: undefined }
  const blocks = createBlockWriter()
  const begin = (chunk: Chunk): string => {
    if (so.begun) return ''
    so.begun = true
    return messageStart(chunk, requestedModel) + pingText
  }
  const says = (choice: ChunkChoice): string => {
    const { delta } = choice
    const refusal = refusalOf(delta)
    so.refused ||= refusal !== ''
    if (choice.finish_reason) so.end = choice
    const text = typeof delta?.content === 'string' ? delta.content : ''
    let out = blocks.thinking(reasoningOf(delta)) + blocks.text(text) + blocks.text(refusal)
    if (Array.isArray(delta?.tool_calls)) {
      for (const [place, part] of delta.tool_calls.entries()) out += blocks.call(part, place)
    }
    return out
  }
  return {
    push(chunk) {
      if (so.over) return ''
      if (chunk.usage) so.usage = chunk.usage
      let out = begin(chunk)
      for (const choice of chunk.choices ?? []) if ((choice.index ?? 0) === 0) out += says(choice)
      return out
    },
    end() {
      if (so.over) return ''
      const out = begin({}) + blocks.close() + messageEnd(so, blocks.calls)
      so.over = true
      return out
    },
    fail(error, requestId) {
      if (so.over) return ''
      so.over = true
      return textFromEvent({ event: 'error', data: JSON.stringify(anthropicErrorBody(error, requestId)) })
    },
    ping: () => (so.over ? '' : pingText),
  }
}

function messageStart(chunk: Chunk, model: string): string {
  const message = {
    id: messageId(chunk.id),
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: usageFromChat(chunk.usage),
  }
  return textFromEvent({ event: 'message_start', data: JSON.stringify({ type: 'message_start', message }) })
}

function messageEnd(so: Progress, calls: boolean): string {
  const delta = stopFromChoice(so.end, { calls, refused: so.refused })
  const last = { type: 'message_delta', delta, usage: usageFromChat(so.usage) }
  return (
    textFromEvent({ event: 'message_delta', data: JSON.stringify(last) }) +
    textFromEvent({ event: 'message_stop', data: '{"type":"message_stop"}' })
  )
}
