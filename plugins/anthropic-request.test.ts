import { describe, expect, it } from 'vitest'
import { chatFromMessages } from './anthropic.ts'
import { GatewayError } from './errors.ts'

const base = { model: 'm', max_tokens: 64, messages: [{ role: 'user', content: 'hi' }] }
const assistant = (...content: object[]) => ({
  ...base,
  messages: [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content },
    { role: 'user', content: 'go on' },
  ],
})

const faultOf = (body: unknown): [string, string | undefined, string] => {
  try {
    chatFromMessages(body)
  } catch (reason) {
    if (reason instanceof GatewayError) return [reason.code, reason.detail.field, reason.message]
  }
  throw new Error('was not refused')
}

describe('a fault names its field as Anthropic does', () => {
  const at = (content: unknown) => ({
    ...base,
    messages: [
      { role: 'user', content: 'a' },
      { role: 'user', content },
    ],
  })
  const tool = (more: object) => ({
    ...base,
    tools: [
      { name: 'a', input_schema: {} },
      { name: 'b', ...more },
    ],
  })

  it.each([
    [{ ...base, max_tokens: undefined }, 'max_tokens'],
    [{ ...base, max_tokens: 0 }, 'max_tokens'],
    [{ ...base, max_tokens: 1.5 }, 'max_tokens'],
    [{ ...base, messages: [] }, 'messages'],
    [{ ...base, messages: [{ role: 'tool', content: '' }] }, 'messages.0.role'],
    [{ ...base, messages: [{ role: 'user' }] }, 'messages.0.content'],
    [{ ...base, temperature: 'hot' }, 'temperature'],
    [{ ...base, stop_sequences: [1] }, 'stop_sequences.0'],
    [{ ...base, system: [{ type: 'image' }] }, 'system.0.type'],
    [{ ...base, system: [{ type: 'text' }] }, 'system.0.text'],
    [at([{ type: 'text', text: 'a' }, { text: 'b' }]), 'messages.1.content.1.type'],
    [at([{ type: 'text', text: 'a' }, { type: 'video' }]), 'messages.1.content.1.type'],
    [at([{ type: 'text', text: 7 }]), 'messages.1.content.0.text'],
    [at([{ type: 'tool_use', id: 'a', name: 'b', input: {} }]), 'messages.1.content.0.type'],
    [at([{ type: 'image' }]), 'messages.1.content.0.source'],
    [at([{ type: 'image', source: { type: 'file', file_id: 'f' } }]), 'messages.1.content.0.source.type'],
    [at([{ type: 'image', source: { type: 'base64', data: 'A' } }]), 'messages.1.content.0.source.media_type'],
    [at([{ type: 'document', source: { type: 'url', url: 'u' } }]), 'messages.1.content.0.source.type'],
    [at([{ type: 'tool_result', content: 'x' }]), 'messages.1.content.0.tool_use_id'],
    [at([{ type: 'tool_result', tool_use_id: 'a', content: 7 }]), 'messages.1.content.0.content'],
    [at([{ type: 'tool_result', tool_use_id: 'a', content: [null] }]), 'messages.1.content.0.content.0'],
    [assistant({ type: 'tool_use', id: 'a', name: 'b', input: [] }), 'messages.1.content.0.input'],
    [assistant({ type: 'tool_use', name: 'b', input: {} }), 'messages.1.content.0.id'],
    [assistant({ type: 'image' }), 'messages.1.content.0.type'],
    [tool({}), 'tools.1.input_schema'],
    [tool({ type: 'web_search_20250305' }), 'tools.1.type'],
    [{ ...base, tool_choice: { type: 'any' } }, 'tool_choice'],
    [{ ...tool({ input_schema: {} }), tool_choice: { type: 'tool' } }, 'tool_choice.name'],
    [{ ...base, metadata: { user_id: 7 } }, 'metadata.user_id'],
  ])('%j', (body, field) => {
    const [code, named, message] = faultOf(body)
    expect([code, named]).toEqual(['invalid_request', field])
    expect(message.startsWith(`${field}: `)).toBe(true)
  })

  it.each([[null], [7], ['text'], [[]]])('a body that is %j is refused', (body) => {
    expect(faultOf(body)[0]).toBe('invalid_request')
  })
})
