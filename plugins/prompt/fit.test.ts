import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Message } from '../chat.ts'
import { planDrops } from './fit.ts'
import { isInstruction } from './messages.ts'
import { ask, openRig } from './test-rig.ts'
import { turnsOf } from './turns.ts'

const words = (count: number, word = 'w'): string => Array(count).fill(word).join(' ')
const user = (content: string): Message => ({ role: 'user', content })
const assistant = (content: string): Message => ({ role: 'assistant', content })
const system: Message = { role: 'system', content: words(6, 's') }

// The test's counter takes a word for a token; a message costs four more.
const talk = [
  system,
  user(words(6, 'a')),
  assistant(words(6, 'b')),
  user(words(6, 'c')),
  assistant(words(6, 'd')),
  user(words(6, 'e')),
]
const context = (more: object = {}) => ({ context: { maxTokens: 100, reserveOutput: 10, keepTurns: 1, ...more } })
const firsts = (messages: readonly Message[] | undefined) =>
  messages?.map((each) => String(each.content).slice(0, 1)).join('')

describe('dropping', () => {
  test('what fits is not touched', async () => {
    const rig = await openRig(context({ maxTokens: 70 }))
    expect(await rig.acting.decide?.(ask({ messages: talk }), 'enforce')).toEqual({ kind: 'pass', facts: {} })
  })
  test('the oldest turns go until it fits; instructions and the last turns stay whole', async () => {
    const rig = await openRig(context({ maxTokens: 69 }))
    const { sent, facts } = await rig.run(ask({ messages: talk }))
    expect(firsts(sent[0]?.messages)).toBe('scde')
    expect(facts.context).toEqual({ dropped: { messages: 2, tokens: 20 }, cut: 0, summarised: false })
    expect(rig.host.counts.get('prompt.context-dropped')).toBe(2)
  })
  test('an observer counts nothing', async () => {
    const rig = await openRig(context({ maxTokens: 69 }))
    expect(await rig.acting.decide?.(ask({ messages: talk }), 'observe')).toMatchObject({
      facts: { context: { cut: 0 } },
    })
    expect(rig.host.counts.size).toBe(0)
  })
  test('room is kept for the answer: what the call asks for, else the configured reserve', async () => {
    const rig = await openRig(context({ maxTokens: 70 }))
    expect(firsts(await rig.messages(ask({ messages: talk, max_tokens: 11 })))).toBe('scde')
    expect(firsts(await rig.messages(ask({ messages: talk, max_completion_tokens: 10 })))).toBe('sabcde')
  })
  test('the context is that of the model that answers', async () => {
    const rig = await openRig(context({ maxTokens: null, modelTokens: { small: 69 } }))
    expect(firsts(await rig.messages(ask({ messages: talk })))).toBe('scde')
    expect(firsts(await rig.messages(ask({ messages: talk }, { target: 'large' })))).toBe('sabcde')
    expect(firsts(await rig.messages(ask({ messages: talk }, { target: 'constructor' })))).toBe('sabcde')
  })
  test('turns go in strides, so that the next call keeps the same prefix', async () => {
    const long = [
      system,
      ...Array.from({ length: 6 }, (_, i) => [user(words(6, String(i))), assistant(words(6, 'x'))]).flat(),
      user('end'),
    ]
    const rig = await openRig(context({ maxTokens: 135, strideTurns: 3 }))
    expect(firsts(await rig.messages(ask({ messages: long })))).toBe('s3x4x5xe')
  })
  test('what cannot fit is a 400 that says how much there is and how much is taken', async () => {
    const rig = await openRig(context({ maxTokens: 50 }))
    const call = ask({ messages: [system, user(words(60))] })
    await expect(rig.run(call)).rejects.toMatchObject({
      code: 'context_length_exceeded',
      status: 400,
      message: expect.stringMatching(/74 tokens; model "small" takes 50, of which 10/),
    })
  })
  test('only when told are messages cut, in their middle, never the instructions', async () => {
    const rig = await openRig(context({ maxTokens: 70, cutMessages: true }))
    const { sent, facts } = await rig.run(ask({ messages: [system, user(`begin ${words(100)} finish`)] }))
    const content = String(sent[0]?.messages?.[1]?.content)
    expect(content).toMatch(/^begin w[w ]*\n\[…\]\nw?[w ]* finish$/)
    expect(content.split(/\s+/).length).toBeLessThanOrEqual(46)
    expect(sent[0]?.messages?.[0]).toEqual(system)
    expect(facts.context).toMatchObject({ cut: 1, dropped: { messages: 0 } })
  })
})

describe('turns', () => {
  test('a tool call and its results stay together, also when somebody speaks in between', () => {
    const call = (id: string): Message => ({ role: 'assistant', tool_calls: [{ id, function: { name: 'f' } }] })
    const result = (id: string): Message => ({ role: 'tool', tool_call_id: id, content: 'r' })
    expect(turnsOf([system, user('a'), call('1'), result('1'), user('b')])).toEqual([[1, 2, 3], [4]])
    expect(turnsOf([user('a'), call('1'), user('b'), result('1'), user('c')])).toEqual([[0, 1, 2, 3], [4]])
    expect(turnsOf([assistant('hi'), user('a')])).toEqual([[0], [1]])
  })

  const message: fc.Arbitrary<Message> = fc.oneof(
    fc.constantFrom<Message>(user('u'), assistant('a'), { role: 'developer', content: 'd' }),
    fc.nat(4).map((id): Message => ({ role: 'assistant', content: null, tool_calls: [{ id: String(id) }] })),
    fc.nat(4).map((id): Message => ({ role: 'tool', tool_call_id: String(id), content: 'r' })),
  )
  const conversation = fc.array(fc.tuple(message, fc.integer({ min: 1, max: 50 })), { minLength: 1, maxLength: 25 })

  test('every message but instructions is in exactly one turn, in order', () => {
    fc.assert(
      fc.property(conversation, (list) => {
        const messages = list.map(([each]) => each)
        const all = turnsOf(messages).flat()
        expect(all).toEqual([...messages.keys()].filter((index) => !isInstruction(messages[index] as Message)))
      }),
      { seed: 21, numRuns: 300 },
    )
  })
  test('dropping never takes instructions, the last turn, or half a pair, and takes no more than it must', () => {
    fc.assert(
      fc.property(
        conversation,
        fc.integer({ min: 0, max: 600 }),
        fc.integer({ min: 1, max: 5 }),
        (list, room, keepTurns) => {
          const messages = list.map(([each]) => each)
          const sizes = list.map(([, size]) => size)
          const dropped = planDrops({ messages, sizes, room, config: { keepTurns, strideTurns: 1 } })
          const out = new Set(dropped)
          const turns = turnsOf(messages)
          for (const turn of turns) expect(new Set(turn.map((index) => out.has(index))).size).toBe(1)
          expect(dropped.some((index) => isInstruction(messages[index] as Message))).toBe(false)
          expect(turns.at(-1)?.some((index) => out.has(index)) ?? false).toBe(false)
          const left = sizes.reduce((sum, size, index) => sum + (out.has(index) ? 0 : size), 0)
          const gone = turns.filter((turn) => out.has(turn[0] ?? -1))
          if (left > room) expect(gone.length).toBe(Math.max(0, turns.length - 1))
          const last = gone.at(-1)?.reduce((sum, index) => sum + (sizes[index] ?? 0), 0) ?? 0
          if (gone.length > 0) expect(left + last).toBeGreaterThan(room)
        },
      ),
      { seed: 22, numRuns: 500 },
    )
  })
})

describe('summaries', () => {
  const summary = { runner: 'a', model: 'mini', maxTokens: 10, maxEntries: 2 }
  const config = context({ maxTokens: 79, strategy: 'summarise', summary })
  const long = [
    system,
    user(words(6, 'a')),
    assistant(words(16, 'b')),
    user(words(6, 'c')),
    assistant(words(6, 'd')),
    user(words(6, 'e')),
  ]
  const board = (say: (body: Record<string, unknown>) => Promise<string>) => {
    const asked: Record<string, unknown>[] = []
    const runners = {
      names: ['a'],
      state: () => ({ available: true, retryAfterMs: 0, outstandingTokens: 0 }),
      ask: async ({ body }: { body: Readonly<Record<string, unknown>> }) => {
        asked.push({ ...body })
        return say({ ...body })
      },
    }
    return { asked, runners }
  }
  test('what is dropped is told before the first thing the user still says, and asked for once', async () => {
    const { asked, runners } = board(async () => ' They met. ')
    const rig = await openRig(config, { runners })
    const both = await Promise.all([rig.run(ask({ messages: long })), rig.run(ask({ messages: long }))])
    const third = await rig.run(ask({ messages: long }))
    for (const { sent, facts } of [...both, third]) {
      expect(sent[0]?.messages?.[1]?.content).toBe(`Earlier in this conversation: They met.\n\n${words(6, 'c')}`)
      expect(facts.context).toMatchObject({ dropped: { messages: 2 }, summarised: true })
    }
    expect(asked).toHaveLength(1)
    expect(asked[0]).toMatchObject({ model: 'mini', max_tokens: 10, stream: false })
  })
  test('a runner that fails or says nothing makes it a drop', async () => {
    for (const say of [async () => Promise.reject(new TypeError('away')), async () => '  ']) {
      const rig = await openRig(config, board(say))
      const { sent, facts } = await rig.run(ask({ messages: long }))
      expect(firsts(sent[0]?.messages)).toBe('scde')
      expect(facts.context).toMatchObject({ summarised: false })
    }
  })
  test('an observer asks no runner, but uses what is known', async () => {
    const { asked, runners } = board(async () => 'Known.')
    const rig = await openRig(config, { runners })
    expect(await rig.acting.decide?.(ask({ messages: long }), 'observe')).toMatchObject({
      facts: { context: { summarised: false } },
    })
    expect(asked).toHaveLength(0)
    await rig.run(ask({ messages: long }))
    expect(await rig.acting.decide?.(ask({ messages: long }), 'observe')).toMatchObject({
      facts: { context: { summarised: true } },
    })
  })
})
