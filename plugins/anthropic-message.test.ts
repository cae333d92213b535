import { describe, expect, it } from 'vitest'
import { messageFromCompletion } from './anthropic.ts'
import type { Completion } from './chunks.ts'

const completion = (message: object, choice: object = {}, more: object = {}): Completion =>
  ({
    id: 'chatcmpl-42',
    object: 'chat.completion',
    model: 'served',
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop', ...choice }],
    usage: { prompt_tokens: 10, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 6 } },
    ...more,
  }) as Completion

const stopOf = (choice: object, message: object = { content: 'a' }) => {
  const { stop_reason, stop_sequence } = messageFromCompletion(completion(message, choice), 'm')
  return [stop_reason, stop_sequence]
}
const call = (id: string, args: unknown) => ({ id, type: 'function', function: { name: 'f', arguments: args } })

describe('a completion as a message', () => {
  it('of text', () => {
    expect(messageFromCompletion(completion({ content: 'hello' }), 'asked')).toEqual({
      id: 'msg_42',
      type: 'message',
      role: 'assistant',
      model: 'asked',
      content: [{ type: 'text', text: 'hello', citations: null }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 4, cache_creation_input_tokens: 0, cache_read_input_tokens: 6, output_tokens: 4 },
    })
  })

  it('of reasoning, text and tool calls, in that order', () => {
    const calls = [call('a', '{"x":1}'), call('b', ''), call('c', { y: 2 }), call('d', '{"x":'), call('e', '[1]')]
    const message = { content: 'so', reasoning_content: 'hm', tool_calls: calls }
    const { content } = messageFromCompletion(completion(message, { finish_reason: 'tool_calls' }), 'm')
    expect(content).toEqual([
      { type: 'thinking', thinking: 'hm', signature: '' },
      { type: 'text', text: 'so', citations: null },
      { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 } },
      { type: 'tool_use', id: 'b', name: 'f', input: {} },
      { type: 'tool_use', id: 'c', name: 'f', input: { y: 2 } },
      { type: 'tool_use', id: 'd', name: 'f', input: { INVALID_JSON: '{"x":' } },
      { type: 'tool_use', id: 'e', name: 'f', input: { INVALID_JSON: '[1]' } },
    ])
  })

  it('that says nothing has one empty text block', () => {
    for (const message of [{}, { content: null }, { content: '' }]) {
      expect(messageFromCompletion(completion(message), 'm').content).toEqual([
        { type: 'text', text: '', citations: null },
      ])
    }
    expect(messageFromCompletion({}, 'm')).toMatchObject({
      stop_reason: null,
      usage: { input_tokens: 0, output_tokens: 0 },
    })
  })

  it('has an id of its own where the runner gave none', () => {
    const ids = [0, 1].map(() => messageFromCompletion(completion({}, {}, { id: undefined }), 'm').id)
    for (const id of ids) expect(id).toMatch(/^msg_[0-9a-f]{24}$/)
    expect(ids[0]).not.toBe(ids[1])
  })

  it.each([
    ['stop', {}, 'end_turn', null],
    ['length', {}, 'max_tokens', null],
    ['content_filter', {}, 'refusal', null],
    ['tool_calls', { tool_calls: [call('a', '{}')] }, 'tool_use', null],
    ['stop', { tool_calls: [call('a', '{}')] }, 'tool_use', null],
    ['length', { tool_calls: [call('a', '{')] }, 'max_tokens', null],
    ['stop', { refusal: 'no' }, 'refusal', null],
    [null, {}, null, null],
  ])('finish reason %j of %j is %j', (finish_reason, message, reason, sequence) => {
    expect(stopOf({ finish_reason }, message)).toEqual([reason, sequence])
  })

  it('tells the stop sequence where the runner does', () => {
    expect(stopOf({ stop_reason: 'END' })).toEqual(['stop_sequence', 'END'])
    expect(stopOf({ matched_stop: 'END' })).toEqual(['stop_sequence', 'END'])
    expect(stopOf({ stop_reason: 151_645, matched_stop: null })).toEqual(['end_turn', null])
  })
})
