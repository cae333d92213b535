import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createMessageStream } from './anthropic.ts'
import type { Chunk } from './chat.ts'
import { chunkFromCompletion, completionFromChunks } from './chunks.ts'
import { createSseReader } from './sse.ts'

const says = (delta: object, finish_reason: string | null = null): Chunk =>
  ({ id: 'chatcmpl-7', choices: [{ index: 0, delta, finish_reason }] }) as Chunk
const part = (index: number, args: string, head: object = {}) => ({
  tool_calls: [{ index, ...head, function: { ...('id' in head ? { name: `f${index}` } : {}), arguments: args } }],
})
const usage: Chunk = {
  choices: [],
  usage: { prompt_tokens: 9, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 5 } },
}
const thoughtful = [
  says({ role: 'assistant', reasoning_content: 'let me ' }),
  says({ reasoning_content: 'see' }),
  says({ content: 'I look.' }),
  says(part(0, '', { id: 'a' })),
  says(part(0, '{"x":')),
  says(part(0, '"}"}')),
  says(part(1, '{}', { id: 'b' })),
  says({}, 'tool_calls'),
  usage,
]

const wire = (chunks: readonly Chunk[]): string => {
  const stream = createMessageStream('asked')
  return chunks.map((chunk) => stream.push(chunk)).join('') + stream.end()
}
const eventsOf = (text: string) => {
  const reader = createSseReader()
  const events = [...reader.push(Buffer.from(text)).events, ...reader.end().events]
  return events.map(({ event, data }) => {
    const value = JSON.parse(data) as { type: string; index?: number; [member: string]: any }
    expect(event).toBe(value.type)
    return value
  })
}

describe('the order of blocks', () => {
  /** Each block as one line, checked to be opened, filled and closed in turn. */
  const blocksOf = (chunks: readonly Chunk[]): string[] => {
    const done: string[] = []
    let open: string | undefined
    for (const { type, index, content_block, delta } of eventsOf(wire(chunks))) {
      if (type === 'content_block_start') {
        expect([open, index]).toEqual([undefined, done.length])
        open = `${content_block.type} ${content_block.id ?? ''}:`
      } else if (type === 'content_block_delta') {
        expect(index).toBe(done.length)
        open += delta.text ?? delta.thinking ?? delta.partial_json
      } else if (type === 'content_block_stop') {
        expect(index).toBe(done.length)
        done.push(open as string)
        open = undefined
      }
    }
    expect(open).toBeUndefined()
    return done
  }

  it('parts of two calls that alternate are kept apart', () => {
    const chunks = [
      says(part(0, '', { id: 'a' })),
      says(part(1, '{"q":', { id: 'b' })),
      says(part(0, '{"p":1')),
      says(part(1, '2}')),
      says(part(0, '}')),
      says({}, 'tool_calls'),
    ]
    expect(blocksOf(chunks)).toEqual(['tool_use a:{"p":1}', 'tool_use b:{"q":2}'])
  })

  it('two calls with the same index and other ids are two', () => {
    const chunks = [
      says(part(0, '{"p":1}', { id: 'a' })),
      says(part(0, '{"q":2}', { id: 'b' })),
      says({}, 'tool_calls'),
    ]
    expect(blocksOf(chunks)).toEqual(['tool_use a:{"p":1}', 'tool_use b:{"q":2}'])
  })

  it('calls without an index go by their place', () => {
    const tool_calls = ['{"p":1}', '{"q":2}'].map((args) => ({ function: { name: 'f', arguments: args } }))
    expect(blocksOf([says({ tool_calls }, 'tool_calls')]).map((line) => line.split(':').slice(1).join(':'))).toEqual([
      '{"p":1}',
      '{"q":2}',
    ])
  })

  it('a later call is said as soon as the one before it is whole', () => {
    const stream = createMessageStream('m')
    stream.push(says(part(0, '{"p":"\\"}', { id: 'a' })))
    expect(stream.push(says(part(1, '{"q"', { id: 'b' })))).toBe('')
    const events = eventsOf(stream.push(says(part(0, '"}'))))
    expect(events.map(({ type, index }) => [type, index])).toEqual([
      ['content_block_delta', 0],
      ['content_block_stop', 0],
      ['content_block_start', 1],
      ['content_block_delta', 1],
    ])
  })

  it('text after a call comes after it', () => {
    const chunks = [
      says(part(0, '{"p"', { id: 'a' })),
      says({ content: 'and' }),
      says(part(0, ':1}')),
      says({}, 'stop'),
    ]
    expect(blocksOf(chunks)).toEqual(['tool_use a:{"p":1}', 'text :and'])
  })

  it('an answer that says nothing has one empty text block', () => {
    expect(blocksOf([says({}, 'stop')])).toEqual(['text :'])
    expect(blocksOf([])).toEqual(['text :'])
  })

  it('a refusal is text, and the stop reason', () => {
    const chunks = [says({ refusal: 'I will ' }), says({ refusal: 'not' }), says({}, 'stop')]
    expect(blocksOf(chunks)).toEqual(['text :I will not'])
    expect(eventsOf(wire(chunks)).at(-2)?.['delta'].stop_reason).toBe('refusal')
  })

  it('only the first choice counts', () => {
    const other = { choices: [{ index: 1, delta: { content: 'no' }, finish_reason: 'length' }] } as Chunk
    expect(blocksOf([says({ content: 'yes' }), other, says({}, 'stop')])).toEqual(['text :yes'])
    expect(eventsOf(wire([says({ content: 'a' }), other])).at(-2)?.['delta'].stop_reason).toBeNull()
  })
})

it('a stream says what the whole answer says, however it is cut', () => {
  const piece = fc.oneof(
    fc.string({ unit: 'binary' }).map((content) => ({ content })),
    fc.string().map((reasoning_content) => ({ reasoning_content })),
    fc.tuple(fc.nat(2), fc.string()).map(([index, text]) => part(index, text)),
  )
  const opened = [0, 1, 2].map((index) => part(index, '', { id: `id-${index}` }))
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), fc.constantFrom('stop', 'length'), (pieces, finish) => {
      const chunks = [...opened, ...pieces].map((delta) => says(delta))
      const events = eventsOf(wire([...chunks, says({}, finish), usage]))
      const text = (kind: string, member: string) =>
        events.flatMap(({ delta }) => (delta?.type === kind ? [delta[member]] : [])).join('')
      const whole = completionFromChunks(chunks).choices?.[0]?.message as Record<string, any>
      expect(text('text_delta', 'text')).toBe(whole['content'] ?? '')
      expect(text('thinking_delta', 'thinking')).toBe(whole['reasoning_content'] ?? '')
      expect(events.filter(({ type }) => type === 'content_block_start').length).toBe(
        events.filter(({ type }) => type === 'content_block_stop').length,
      )
    }),
    { seed: 7, numRuns: 200 },
  )
})

it('one chunk that is the whole answer streams like many', () => {
  const whole = chunkFromCompletion(completionFromChunks([...thoughtful]))
  const lines = (chunks: readonly Chunk[]) =>
    eventsOf(wire(chunks)).filter(({ type }) => type !== 'content_block_delta')
  expect(lines([whole])).toEqual(
    lines(thoughtful).map((event) => (event.type === 'message_start' ? expect.anything() : event)),
  )
})
