import { describe, expect, it } from 'vitest'
import { chatFromMessages } from './anthropic.ts'
import { type ChatRequest, jsonFromText, requestSchemas } from './chat.ts'

const base = { model: 'm', max_tokens: 64, messages: [{ role: 'user', content: 'hi' }] }
const user = (...content: object[]) => ({ ...base, messages: [{ role: 'user', content }] })
const assistant = (...content: object[]) => ({
  ...base,
  messages: [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content },
    { role: 'user', content: 'go on' },
  ],
})

/** What a body becomes, held to the shape of a chat request. */
const chat = (body: object): ChatRequest => {
  const request = chatFromMessages(body)
  expect(requestSchemas.chat.faults(request)).toEqual([])
  return request
}

describe('a messages request as chat', () => {
  it('a plain text one', () => {
    expect(chat({ ...base, system: 'be brief' })).toEqual({
      model: 'm',
      messages: [
        { role: 'system', content: 'be brief' },
        { role: 'user', content: 'hi' },
      ],
      max_tokens: 64,
    })
  })

  it('every sampling member under its chat name', () => {
    const said = { temperature: 0, top_p: 0.9, top_k: 5, stop_sequences: ['END'], metadata: { user_id: 'u1' } }
    expect(chat({ ...base, ...said })).toMatchObject({
      temperature: 0,
      top_p: 0.9,
      top_k: 5,
      stop: ['END'],
      user: 'u1',
    })
  })

  it('a stream asks for its usage', () => {
    expect(chat({ ...base, stream: true })).toMatchObject({ stream: true, stream_options: { include_usage: true } })
    expect(chat({ ...base, stream: false })).not.toHaveProperty('stream')
  })

  it('members that chat servers may refuse stay behind, our directives do not', () => {
    const extra = {
      service_tier: 'auto',
      thinking: { type: 'enabled', budget_tokens: 1024 },
      cache_control: {},
      odd: 1,
    }
    const empty = { stop_sequences: [], tools: [], metadata: {}, temperature: null, system: '' }
    const request = chat({ ...base, ...extra, ...empty, execution_context: { debug_force_fallback: true } })
    expect(Object.keys(request)).toEqual(['model', 'messages', 'max_tokens', 'execution_context'])
  })

  it('an output format and an effort under their chat names', () => {
    const schema = { type: 'object' }
    const request = chat({ ...base, output_config: { effort: 'max', format: { type: 'json_schema', schema } } })
    expect(request).toMatchObject({
      reasoning_effort: 'high',
      response_format: { type: 'json_schema', json_schema: { name: 'output', strict: true, schema } },
    })
    expect(chat({ ...base, output_config: { effort: 'constructor' } })).not.toHaveProperty('reasoning_effort')
  })

  it('system blocks become one text', () => {
    const system = [
      { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } },
      { type: 'text', text: 'b' },
    ]
    expect(chat({ ...base, system }).messages?.[0]).toEqual({ role: 'system', content: 'a\n\nb' })
  })

  it('one text block becomes a text, several stay parts', () => {
    const text = (value: string) => ({ type: 'text', text: value })
    expect(chat(user(text('a'))).messages).toEqual([{ role: 'user', content: 'a' }])
    expect(chat(user(text('a'), text('b'))).messages).toEqual([{ role: 'user', content: [text('a'), text('b')] }])
    expect(chat(user()).messages).toEqual([{ role: 'user', content: '' }])
  })

  it('pictures and documents become parts', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
    const linked = { type: 'image', source: { type: 'url', url: 'https://x.example/a.png' } }
    const pdf = {
      type: 'document',
      title: 'a.pdf',
      source: { type: 'base64', media_type: 'application/pdf', data: 'BBBB' },
    }
    const plain = { type: 'document', title: 'Notes', source: { type: 'text', media_type: 'text/plain', data: 'abc' } }
    expect(chat(user(image, linked, pdf, plain)).messages?.[0]?.content).toEqual([
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
      { type: 'image_url', image_url: { url: 'https://x.example/a.png' } },
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,BBBB' } },
      { type: 'text', text: 'Notes\n\nabc' },
    ])
  })
})

describe('tools', () => {
  const input_schema = { type: 'object', properties: { city: { type: 'string' } } }
  const tools = [{ name: 'weather', description: 'the weather', input_schema, cache_control: { type: 'ephemeral' } }]

  it('are functions', () => {
    const described = { name: 'weather', description: 'the weather', parameters: input_schema }
    expect(chat({ ...base, tools }).tools).toEqual([{ type: 'function', function: described }])
  })

  it.each([
    [{ type: 'auto' }, { tool_choice: 'auto' }],
    [{ type: 'any' }, { tool_choice: 'required' }],
    [{ type: 'none' }, { tool_choice: 'none' }],
    [
      { type: 'tool', name: 'weather', disable_parallel_tool_use: true },
      { tool_choice: { type: 'function', function: { name: 'weather' } }, parallel_tool_calls: false },
    ],
  ])('choice %j', (tool_choice, expected) => {
    const { tool_choice: choice, parallel_tool_calls } = chat({ ...base, tools, tool_choice })
    expect({ tool_choice: choice, ...(parallel_tool_calls === undefined ? {} : { parallel_tool_calls }) }).toEqual(
      expected,
    )
  })

  it('calls and thinking of an earlier turn', () => {
    const use = { type: 'tool_use', id: 't1', name: 'weather', input: { city: 'Köln' } }
    const thinking = { type: 'thinking', thinking: 'hm', signature: 's' }
    const [, message] = chat(assistant(thinking, { type: 'text', text: 'let me see' }, use)).messages ?? []
    expect(message).toEqual({
      role: 'assistant',
      content: 'let me see',
      reasoning_content: 'hm',
      tool_calls: [{ id: 't1', type: 'function', function: { name: 'weather', arguments: '{"city":"Köln"}' } }],
    })
    expect(chat(assistant(use)).messages?.[1]?.content).toBeNull()
  })

  it('thinking outside of a tool loop stays behind', () => {
    const redacted = { type: 'redacted_thinking', data: 'x' }
    const thinking = { type: 'thinking', thinking: 'hm', signature: 's' }
    const messages = chat(
      assistant(thinking, redacted, { type: 'text', text: 'a' }, { type: 'text', text: 'b' }),
    ).messages
    expect(messages?.[1]).toEqual({ role: 'assistant', content: 'ab' })
  })

  it('results stand before the rest of their turn, one message each', () => {
    const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
    const result = (tool_use_id: string, content?: unknown, is_error?: boolean) => ({
      type: 'tool_result',
      tool_use_id,
      content,
      is_error,
    })
    const texts = [{ type: 'text', text: 'a' }, picture, { type: 'text', text: 'b' }]
    const turn = user(result('1', 'rain'), result('2', texts), result('3'), result('4', 'no', true), {
      type: 'text',
      text: 'so?',
    })
    expect(chat(turn).messages).toEqual([
      { role: 'tool', tool_call_id: '1', content: 'rain' },
      { role: 'tool', tool_call_id: '2', content: 'a\nb' },
      { role: 'tool', tool_call_id: '3', content: '' },
      { role: 'tool', tool_call_id: '4', content: 'Error: no' },
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          { type: 'text', text: 'so?' },
        ],
      },
    ])
    expect(chat(user(result('1', 'rain'))).messages).toHaveLength(1)
  })

  it('an integer beyond 2⁵³ in an input keeps its digits', () => {
    const text = JSON.stringify(assistant({ type: 'tool_use', id: 't', name: 'f', input: { n: 0 } }))
    const body = jsonFromText(text.replace('"n":0', '"n":9007199254740993')) as object
    expect(chat(body).messages?.[1]?.tool_calls?.[0]?.function?.arguments).toBe('{"n":9007199254740993}')
  })
})
