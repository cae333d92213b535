import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Chunk } from '../chat.ts'
import { chunkFromCompletion, completionFromChunks } from '../chunks.ts'
import { createCapture } from './capture.ts'
import { completion } from './test-rig.ts'

const captured = (chunks: readonly Chunk[], maxBytes = 1_000_000) => {
  const capture = createCapture(maxBytes)
  for (const chunk of chunks) capture.add(chunk)
  return capture.completion()
}

/** Chunks of a stream as servers send them: text, thoughts, tool calls, log probabilities, usage now and then. */
const chunk: fc.Arbitrary<Chunk> = fc.record(
  {
    id: fc.constant('c'),
    usage: fc.option(fc.record({ total_tokens: fc.nat(9) })),
    choices: fc.array(
      fc.record(
        {
          index: fc.nat(1),
          delta: fc.record(
            {
              role: fc.constant('assistant'),
              content: fc.option(fc.string()),
              reasoning_content: fc.string(),
              tool_calls: fc.array(
                fc.record(
                  { index: fc.nat(1), id: fc.constantFrom('a', 'b'), function: fc.record({ arguments: fc.string() }) },
                  { requiredKeys: ['index', 'function'] },
                ),
                { maxLength: 2 },
              ),
            },
            { requiredKeys: [] },
          ),
          logprobs: fc.option(fc.record({ content: fc.array(fc.nat(9), { maxLength: 2 }) })),
          finish_reason: fc.option(fc.constant('stop'), { freq: 8 }),
        },
        { requiredKeys: ['index', 'delta'] },
      ),
      { minLength: 0, maxLength: 2 },
    ),
  },
  { requiredKeys: ['id', 'choices'] },
)

describe('a captured answer', () => {
  test('is what the chunks add up to, however they are mixed', () => {
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 12 }), (chunks) => {
        expect(plain(captured(chunks))).toEqual(plain(completionFromChunks(chunks)))
      }),
      { seed: 5, numRuns: 300 },
    )
  })

  test('ends with the usage that was said last, whichever choice said it', () => {
    const says = (index: number, total_tokens: number): Chunk => ({
      usage: { total_tokens },
      choices: [{ index, delta: { content: 'a' }, finish_reason: null }],
    })
    const chunks = [says(0, 1), says(1, 2), says(0, 3)]
    expect(captured(chunks)?.usage).toEqual({ total_tokens: 3 })
    expect(captured(chunks)).toEqual(completionFromChunks(chunks))
  })

  test('of legacy text is added up too', () => {
    const text = (each: string, index = 0): Chunk => ({ choices: [{ index, text: each, finish_reason: null }] })
    const chunks = [text('a'), text('x', 1), text('b'), text('y', 1)]
    expect(captured(chunks)).toEqual(completionFromChunks(chunks))
  })

  test('that came whole is exactly what came, also tool calls that nothing tells apart', () => {
    const call = { type: 'function', function: { name: 'f', arguments: '{}' } }
    const message = { role: 'assistant', content: null, tool_calls: [call, call], refusal: null }
    const whole = completion('', { choices: [{ index: 0, message, finish_reason: 'tool_calls' }], extra: null })
    expect(captured([chunkFromCompletion(whole)])).toEqual(whole)
  })

  test('of a hundred thousand tokens is held as its text', () => {
    const token: Chunk = { id: 'c', choices: [{ index: 0, delta: { content: 'word ' }, finish_reason: null }] }
    const whole = captured(Array<Chunk>(100_000).fill(token), 600_000)
    expect(whole?.choices?.[0]?.message?.content).toHaveLength(500_000)
  })

  test('that outgrows its bound is dropped, whatever it grows by', () => {
    const fat: Chunk = { choices: [], vendor: 'x'.repeat(600) }
    expect(captured([fat], 1_000)).toBeDefined()
    expect(captured([fat, fat], 1_000)).toBeUndefined()
    const text: Chunk = { choices: [{ index: 0, delta: { content: 'x'.repeat(600) } }] }
    expect(captured([text, text], 1_000)).toBeUndefined()
  })

  test('made of nonsense does not throw while it goes by', () => {
    const nonsense = [{ choices: null }, { choices: {} }, { choices: [null] }, { choices: [{ index: 'a', delta: 1 }] }]
    const capture = createCapture(1_000)
    for (const each of [
      ...nonsense,
      { choices: [{ index: 0, text: null }] },
      { choices: [{ index: 0, delta: null }] },
    ]) {
      expect(() => capture.add(each as unknown as Chunk)).not.toThrow()
    }
  })
})

/** As JSON says it: a member that is undefined is not there. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null))
}
