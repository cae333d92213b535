import { describe, expect, it } from 'vitest'
import type { Chunk } from './chat.ts'
import {
  type Completion,
  chunkFromCompletion,
  chunksFromCompletion,
  completionFromChunks,
  isComplete,
} from './chunks.ts'

const chat = (delta: Record<string, unknown>, more: object = {}): Chunk => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: null, ...more }],
})

const whole: Completion = {
  id: 'c1',
  object: 'chat.completion',
  model: 'm',
  system_fingerprint: 'fp',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: 'hello',
        reasoning_content: 'because',
        tool_calls: [
          { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
          { id: 'b', type: 'function', function: { name: 'g', arguments: '{}' } },
        ],
      },
      logprobs: { content: [{ token: 'hello' }] },
      finish_reason: 'tool_calls',
    },
  ],
  usage: { prompt_tokens: 3, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 1 } },
}

describe('completionFromChunks()', () => {
  it('adds up text, reasoning and finish reason of each choice', () => {
    const chunks = [
      chat({ role: 'assistant', content: '' }),
      chat({ content: 'hel', reasoning_content: 'be' }),
      { ...chat({ content: 'x' }), choices: [{ index: 1, delta: { content: 'x' }, finish_reason: 'stop' }] },
      chat({ content: 'lo', reasoning_content: 'cause' }),
      chat({}, { finish_reason: 'stop' }),
      { id: 'c1', choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 } },
    ]
    const completion = completionFromChunks(chunks)
    expect(completion.object).toBe('chat.completion')
    expect(completion.choices).toEqual([
      {
        index: 0,
        message: { role: 'assistant', content: 'hello', reasoning_content: 'because' },
        finish_reason: 'stop',
      },
      { index: 1, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' },
    ])
    expect(completion.usage).toEqual({ prompt_tokens: 1, completion_tokens: 2 })
  })

  it('keeps parallel tool calls apart by index', () => {
    const call = (index: number, part: Record<string, unknown>) => chat({ tool_calls: [{ index, ...part }] })
    const { choices } = completionFromChunks([
      chat({
        tool_calls: [
          { index: 0, id: 'a', function: { name: 'f', arguments: '{"x"' } },
          { index: 1, id: 'b', function: { name: 'g', arguments: '{"y"' } },
        ],
      }),
      call(1, { function: { arguments: ':2}' } }),
      call(0, { function: { arguments: ':1}' } }),
    ])
    expect(choices?.[0]?.message?.tool_calls).toEqual([
      { id: 'a', function: { name: 'f', arguments: '{"x":1}' } },
      { id: 'b', function: { name: 'g', arguments: '{"y":2}' } },
    ])
  })

  it('starts another call when an index comes again under a new id', () => {
    const { choices } = completionFromChunks([
      chat({ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }] }),
      chat({ tool_calls: [{ index: 0, id: 'b', function: { name: 'g', arguments: '{' } }] }),
      chat({ tool_calls: [{ index: 0, function: { arguments: '}' } }] }),
    ])
    expect(choices?.[0]?.message?.tool_calls?.map((each) => [each.id, each.function?.arguments])).toEqual([
      ['a', '{}'],
      ['b', '{}'],
    ])
  })

  it('adds up legacy text completions', () => {
    const part = (text: string, finish_reason: string | null): Chunk => ({
      object: 'text_completion',
      choices: [{ index: 0, text, finish_reason }],
    })
    expect(completionFromChunks([part('a', null), part('b', 'stop')]).choices).toEqual([
      { index: 0, text: 'ab', finish_reason: 'stop' },
    ])
  })
})

describe('a whole answer', () => {
  it('comes back from its one chunk with every member', () => {
    expect(completionFromChunks([chunkFromCompletion(whole)])).toEqual(whole)
  })

  it('comes back from its stream with every member', () => {
    expect(completionFromChunks(chunksFromCompletion(whole, true))).toEqual(whole)
  })

  it('brings a usage chunk only where one is asked for', () => {
    expect(chunksFromCompletion(whole, false).some((chunk) => chunk.usage)).toBe(false)
  })

  it('is complete when every choice has finished', () => {
    expect(isComplete(whole)).toBe(true)
    expect(isComplete({ choices: [{ index: 0, message: { role: 'assistant' }, finish_reason: null }] })).toBe(false)
    expect(isComplete({ choices: [] })).toBe(false)
  })
})
