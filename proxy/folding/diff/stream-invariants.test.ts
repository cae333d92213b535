import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Chunk } from '../../../plugins/chat.ts'
import { type ChunkSays, chatChunk, dataEvent } from '../../../test/support/chat-replies.ts'
import type { Invariant } from './stream-invariant.ts'
import { createStreamInvariants, type StreamEnd, type StreamExpectation } from './stream-invariants.ts'
import { createStreamMemory, createStreamTee } from './stream-memory.ts'

const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
const part = (index: number, args: string, more = {}) => ({ index, function: { arguments: args }, ...more })
const says: readonly ChunkSays[] = [
  { role: 'assistant', content: '' },
  { content: 'Grüße, ' },
  { content: 'Welt 🌍' },
  { toolCalls: [part(0, '{"a":', { id: 'c0', type: 'function' })] },
  { toolCalls: [part(0, '1}')] },
  { toolCalls: [part(1, '[]', { id: 'c1', type: 'function' })] },
  { finish: 'tool_calls' },
  { choice: null, usage },
]
const eventsOf = (list: readonly ChunkSays[]): string[] => [
  ...list.map((each) => dataEvent(chatChunk(each))),
  dataEvent('[DONE]'),
]
const good = eventsOf(says)

interface Played extends Partial<StreamExpectation> {
  readonly events?: readonly string[]
  readonly bytes?: Buffer
  readonly cuts?: readonly number[]
  /** Milliseconds between parts. */
  readonly gap?: number
  readonly end?: StreamEnd
  readonly memory?: ReturnType<typeof createStreamMemory>
}
function play({ events = good, bytes = Buffer.from(events.join('')), cuts = [], gap = 10, ...rest }: Played = {}) {
  const { end = { kind: 'complete' }, memory = createStreamMemory(), ...expects } = rest
  const checker = createStreamInvariants({ usage: true, startedAt: 0, ...expects }, memory)
  let [at, from] = [0, 0]
  for (const to of [...cuts.toSorted((a, b) => a - b), bytes.length]) {
    at += gap
    if (to > from) checker.push(bytes.subarray(from, to), at)
    from = Math.max(from, to)
  }
  const report = checker.end(end, at + 1)
  return { ...report, names: report.broken.map(({ invariant }) => invariant), used: memory.used }
}
const without = (index: number): string[] => good.filter((_, at) => at !== index)
const plus = (index: number, ...more: readonly (ChunkSays | string)[]): string[] =>
  good.toSpliced(index, 0, ...more.map((each) => (typeof each === 'string' ? each : dataEvent(chatChunk(each)))))
const swapped = (index: number, by: ChunkSays): string[] => good.with(index, dataEvent(chatChunk(by)))

describe('a stream that is whole', () => {
  it('breaks nothing, wherever it is cut', () => {
    const whole = Buffer.from(good.join(''))
    const cuts = fc.array(fc.integer({ min: 0, max: whole.length }), { maxLength: 40 })
    fc.assert(
      fc.property(cuts, (at) => {
        expect(play({ cuts: at })).toMatchObject({ broken: [], unchecked: [], streamBroken: false, used: 0 })
      }),
      { seed: 31 },
    )
  })

  it('breaks nothing, whatever it says', () => {
    const choice = fc.record({
      pieces: fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 5 }),
      args: fc.option(fc.jsonValue(), { nil: undefined }),
      finish: fc.constantFrom('stop', 'length', 'tool_calls'),
    })
    fc.assert(
      fc.property(fc.array(choice, { minLength: 1, maxLength: 4 }), fc.boolean(), (choices, asked) => {
        const list = choices.flatMap(({ pieces, args, finish }, at): ChunkSays[] => [
          { choice: at, role: 'assistant' },
          ...pieces.map((content) => ({ choice: at, content })),
          ...(args === undefined ? [] : [{ choice: at, toolCalls: [part(0, JSON.stringify(args))] }]),
          { choice: at, finish },
        ])
        const events = eventsOf(asked ? [...list, { choice: null, usage }] : list)
        expect(play({ events, usage: asked }).broken).toEqual([])
      }),
      { seed: 32 },
    )
  })

  it('may repeat its choice, empty, with its usage, and send heartbeats (scenario 29)', () => {
    expect(play({ events: swapped(7, { usage }) }).broken).toEqual([])
    expect(play({ events: plus(3, ': ping\n\n', 'event: ping\ndata: {}\n\n') }).broken).toEqual([])
  })

  it('may bear usage null on every chunk when none was asked for', () => {
    const events = eventsOf(says.slice(0, -1).map((each) => ({ ...each, usage: null })))
    expect(play({ events, usage: false }).broken).toEqual([])
  })

  it('may have arguments that were cut off for their length', () => {
    const cut = [...says.slice(0, 4), { finish: 'length' }, { choice: null, usage }]
    expect(play({ events: eventsOf(cut) }).broken).toEqual([])
  })

  it('is measured', () => {
    const whole = Buffer.from(good.join(''))
    const { shape } = play({ cuts: [10, 20, 30], gap: 100 })
    expect(shape).toMatchObject({
      ttftMs: 100,
      durationMs: 401,
      parts: 4,
      bytes: whole.length,
      maxGapMs: 100,
      partsPerSecond: 10,
    })
    expect(shape.contentBytes).toBe(Buffer.byteLength('Grüße, Welt 🌍{"a":1}[]'))
    expect(shape.gapP99Ms).toBe(100)
  })
})

const broken: readonly (readonly [Invariant, string, string, Played])[] = [
  ['event-parses', 'json', 'an event that is no JSON', { events: plus(3, dataEvent('{"choices":')) }],
  [
    'event-parses',
    'utf8',
    'a character that is cut in half',
    {
      bytes: Buffer.concat([
        Buffer.from(plus(0).slice(0, 2).join('')),
        Buffer.from('data: {"x":"\xc3"}\n\n', 'latin1'),
        Buffer.from(good.slice(2).join('')),
      ]),
    },
  ],
  ['event-parses', 'utf8', 'half a surrogate pair', { events: swapped(1, { content: '\ud83c' }) }],
  ['event-parses', 'unfinished', 'an end inside an event', { bytes: Buffer.from(`${good.join('')}data: {"x":1}`) }],
  ['one-head', 'id', 'another id', { events: swapped(2, { content: 'x', id: 'other' }) }],
  ['one-head', 'model', 'another model', { events: swapped(2, { content: 'x', model: 'other' }) }],
  ['role-first', 'twice', 'a role twice', { events: swapped(1, { content: 'x', role: 'assistant' }) }],
  [
    'role-first',
    'late',
    'a role that comes late',
    { events: [good[1] as string, good[0] as string, ...good.slice(2)] },
  ],
  [
    'indices',
    'choice',
    'a gap in the choices',
    { events: plus(6, { choice: 2, content: 'x' }, { choice: 2, finish: 'stop' }) },
  ],
  ['indices', 'call', 'a gap in the tool calls', { events: swapped(5, { toolCalls: [part(3, '[]')] }) }],
  [
    'indices',
    'call',
    'two tool calls under one index',
    { events: swapped(5, { toolCalls: [part(0, '', { id: 'c9' })] }) },
  ],
  ['indices', 'arguments', 'arguments that are no JSON', { events: without(4) }],
  ['one-finish', 'missing', 'no finish', { events: without(6) }],
  ['one-finish', 'twice', 'two finishes', { events: plus(7, { finish: 'stop' }) }],
  ['one-finish', 'after', 'content after the finish', { events: plus(7, { content: 'more' }) }],
  ['one-finish', 'after', 'an empty delta after the finish', { events: plus(7, {}) }],
  ['event-parses', 'json', 'a finish that cannot be read', { events: good.with(6, dataEvent('{')) }],
  ['usage-as-asked', 'missing', 'no usage that was asked for', { events: without(7) }],
  ['usage-as-asked', 'unasked', 'usage that nobody asked for', { usage: false }],
  ['end-mark', 'missing', 'no end mark', { events: good.slice(0, -1) }],
  ['end-mark', 'twice', 'two end marks', { events: [...good, dataEvent('[DONE]')] }],
  ['end-mark', 'after', 'something after the end mark', { events: [...good, dataEvent(chatChunk({ content: 'x' }))] }],
  ['end-mark', 'unexpected', 'an end mark in a dialect without', { endMark: false }],
  ['idle-gap', 'between', 'a pause', { cuts: [10], gap: 5_000, idleMs: 4_999 }],
  ['abort-propagates', 'late', 'a runner that hears late', { end: { kind: 'aborted', callerAt: 5, runnerAt: 1_006 } }],
  [
    'abort-propagates',
    'never',
    'a runner that never hears',
    { end: { kind: 'aborted', callerAt: 5, runnerAt: undefined } },
  ],
  ['bytes-delivered', 'fewer', 'content that was lost', { end: { kind: 'complete', contentBytes: 99 } }],
  ['bytes-delivered', 'more', 'content that was added', { end: { kind: 'complete', contentBytes: 1 } }],
]

describe('a stream with one fault', () => {
  it.each(broken)('breaks %s (%s) and nothing else: %s', (invariant, detail, _, played) => {
    const report = play(played)
    expect(report.broken).toEqual([{ invariant, detail, signature: expect.stringMatching(/^[0-9a-f]{16}$/) }])
    expect(report.used).toBe(0)
  })

  it('is found wherever the stream is cut', () => {
    const faults = broken.filter(([, , , { end, gap }]) => !end && gap === undefined)
    const cuts = fc.array(fc.integer({ min: 0, max: 900 }), { maxLength: 20 })
    fc.assert(
      fc.property(fc.constantFrom(...faults), cuts, ([invariant, , , played], at) => {
        expect(play({ ...played, cuts: at }).names).toEqual([invariant])
      }),
      { seed: 33 },
    )
  })

  it('has a signature for each way of breaking, and none twice', () => {
    const signatures = new Set(broken.map(([, , , played]) => play(played).broken[0]?.signature))
    expect(signatures.size).toBe(new Set(broken.map(([invariant, detail]) => `${invariant} ${detail}`)).size)
  })
})

describe('a stream that ends otherwise', () => {
  it('is broken when it fails after its first byte, and nothing is missing then', () => {
    const events = good.slice(0, 3)
    expect(play({ events, end: { kind: 'failed' } })).toMatchObject({ broken: [], streamBroken: true })
    expect(play({ events: [...events, dataEvent({ error: { message: 'x' } })] })).toMatchObject({
      broken: [],
      streamBroken: true,
    })
  })

  it('lacks nothing when the caller goes away and the runner hears in time', () => {
    const end = { kind: 'aborted', callerAt: 5, runnerAt: 1_005 } as const
    expect(play({ events: good.slice(0, 3), end })).toMatchObject({ broken: [], streamBroken: false })
  })
})

describe('a checker', () => {
  it('takes chunks and events as well as bytes', () => {
    const chunks = says.map((each) => chatChunk(each) as Chunk)
    const checker = createStreamInvariants({ usage: true, startedAt: 0 }, createStreamMemory())
    for (const [at, chunk] of chunks.entries()) checker.push(chunk, at)
    expect(checker.end({ kind: 'complete' }, 9)).toMatchObject({
      broken: [],
      unchecked: [{ invariant: 'end-mark', reason: 'not-seen' }],
    })
    const other = createStreamInvariants({ usage: true, startedAt: 0 }, createStreamMemory())
    for (const chunk of chunks) other.push({ data: JSON.stringify(chunk) }, 1)
    other.push({ data: '[DONE]' }, 1)
    expect(other.end({ kind: 'complete' }, 9)).toMatchObject({ broken: [], unchecked: [] })
  })

  it('says what is broken while the stream still goes on', () => {
    const checker = createStreamInvariants({ usage: true, startedAt: 0 }, createStreamMemory())
    checker.push(Buffer.from(dataEvent(chatChunk({ role: 'assistant' }))), 1)
    expect(checker.broken).toEqual([])
    checker.push(Buffer.from(dataEvent(chatChunk({ role: 'assistant' }))), 2)
    expect(checker.broken).toMatchObject([{ invariant: 'role-first' }])
  })

  it('leaves out what outgrows its memory, says so, and looks on at the rest (scenario 28)', () => {
    const memory = createStreamMemory({ perStream: 64 })
    const events = swapped(3, { toolCalls: [part(0, `{"a":"${'x'.repeat(100)}`, { id: 'c0' })] })
    expect(play({ events, memory })).toMatchObject({
      broken: [],
      unchecked: [{ invariant: 'indices', reason: 'too_large' }],
      used: 0,
    })
    expect(memory.outgrown).toBe(1)
    expect(play({ events: events.filter((_, at) => at !== 7), memory }).names).toEqual(['usage-as-asked'])
  })

  it('stops reading a stream with an event longer than it may keep', () => {
    const huge = dataEvent(chatChunk({ content: 'x'.repeat(300 * 1024) }))
    const report = play({ events: [good[0] as string, huge, ...good.slice(1)], cuts: [1_000, 200_000, 290_000] })
    expect(report).toMatchObject({ broken: [], unchecked: [{ reason: 'too_large' }, { reason: 'too_large' }] })
  })

  it('never throws, whatever it is given', () => {
    const value = fc.jsonValue()
    const choice = fc.record(
      {
        index: fc.oneof(fc.nat(3), value),
        delta: fc.oneof(value, fc.record({ tool_calls: value, content: value })),
        finish_reason: value,
      },
      { requiredKeys: [] },
    )
    const chunk = fc.record({ id: value, usage: value, error: value, choices: fc.array(choice) }, { requiredKeys: [] })
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            chunk,
            fc.uint8Array().map((each) => Buffer.from(each)),
          ),
        ),
        (parts) => {
          const checker = createStreamInvariants({ usage: false, startedAt: 0 }, createStreamMemory())
          for (const each of parts) checker.push(each as Chunk, 1)
          expect(checker.end({ kind: 'complete' }, 2).shape.parts).toBe(parts.length)
        },
      ),
      { seed: 34 },
    )
  })

  it('takes little time for each chunk', () => {
    const checker = createStreamInvariants({ usage: false, startedAt: 0 }, createStreamMemory())
    const chunk = chatChunk({ content: 'word ' }) as Chunk
    const start = performance.now()
    for (let at = 0; at < 50_000; at++) checker.push(chunk, at)
    // Some 1 µs each where it is measured; the bound is for machines that do other things too.
    expect(performance.now() - start).toBeLessThan(2_000)
  })
})

describe('the memory of streams', () => {
  it('is one for all: what is given back can be taken again', () => {
    const memory = createStreamMemory({ perStream: 60, inAll: 100 })
    const [one, two] = [memory.open(), memory.open()]
    expect([one.take(60), two.take(40), two.take(1)]).toEqual([true, true, false])
    expect([two.full, memory.used, memory.outgrown]).toEqual([true, 60, 1])
    one.close()
    one.close()
    expect(memory.used).toBe(0)
    expect(memory.open().take(60)).toBe(true)
  })

  it('gives a stream back whole, or not at all', () => {
    const memory = createStreamMemory({ perStream: 10 })
    const small = createStreamTee(memory)
    small.push(Buffer.from('12345'))
    small.push(Buffer.from('67890'))
    const large = createStreamTee(memory)
    large.push(Buffer.from('12345'))
    large.push(Buffer.from('678901'))
    large.push(Buffer.from('2'))
    expect([small.take()?.toString(), large.take(), memory.used]).toEqual(['1234567890', undefined, 0])
  })
})
