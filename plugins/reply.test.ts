import { describe, expect, it } from 'vitest'
import type { Chunk } from './chat.ts'
import { type Ending, type Reply, type ReplyInit, replyFromBytes, replyFromCompletion } from './reply.ts'

const init = (streamed: boolean, more: Partial<ReplyInit> = {}): ReplyInit => ({
  status: 200,
  streamed,
  source: 'runner',
  ...more,
})
const event = (chunk: object): string => `data: ${JSON.stringify(chunk)}\n\n`
const says = (content: string, finish: string | null = null): string =>
  event({ id: 'c', choices: [{ index: 0, delta: { content }, finish_reason: finish }] })
const usage = event({ id: 'c', choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 } })
const stream = `${says('a')}${says('b')}${says('', 'stop')}${usage}data: [DONE]\n\n`
const json =
  '{ "choices": [ { "index": 0, "message": { "role": "assistant", "content": "ab" }, "finish_reason": "stop" } ] }'

async function* parts(...texts: string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text)
}
const drain = async (reply: Reply): Promise<string> => {
  let text = ''
  for await (const part of reply.bytes()) text += part.toString()
  return text
}
const upper = {
  push: (chunk: Chunk): Chunk => ({
    ...chunk,
    choices:
      chunk.choices?.map((each) => ({
        ...each,
        delta: { ...each.delta, content: each.delta?.content?.toUpperCase() ?? null },
      })) ?? [],
  }),
}

describe('a reply nobody looks into', () => {
  it('passes a stream on byte for byte', async () => {
    const odd = stream.replaceAll('\n\n', '\r\n\r\n').replaceAll('data: ', 'data:')
    expect(await drain(replyFromBytes(init(true), 'events', parts(odd.slice(0, 31), odd.slice(31))))).toBe(odd)
  })

  it('passes a JSON document on byte for byte, also when it is watched', async () => {
    const seen: Chunk[] = []
    const reply = replyFromBytes(init(false), 'json', parts(json)).observe({ chunk: (chunk) => seen.push(chunk) })
    expect(await drain(reply)).toBe(json)
    expect(seen[0]?.choices?.[0]?.delta?.content).toBe('ab')
  })
})

describe('a reply that is watched', () => {
  it('leaves every event as it came', async () => {
    const reply = replyFromBytes(init(true, { includeUsage: true }), 'events', parts(stream)).observe({
      chunk: () => undefined,
    })
    expect(await drain(reply)).toBe(stream)
  })

  it('keeps the usage chunk from a caller who did not ask for it', async () => {
    const seen: Chunk[] = []
    const reply = replyFromBytes(init(true), 'events', parts(stream)).observe({ chunk: (chunk) => seen.push(chunk) })
    expect(await drain(reply)).toBe(stream.replace(usage, ''))
    expect(seen.at(-1)?.usage).toEqual({ prompt_tokens: 1, completion_tokens: 2 })
  })

  it.each<[string, string[], Ending['kind']]>([
    ['complete', [stream], 'complete'],
    ['failed', [says('a')], 'failed'],
  ])('hears once that it ended: %s', async (_, texts, kind) => {
    const endings: string[] = []
    const reply = replyFromBytes(init(true), 'events', parts(...texts)).observe({
      end: (ending) => endings.push(ending.kind),
    })
    await drain(reply).catch(() => undefined)
    expect(endings).toEqual([kind])
  })

  it('hears that it was dropped when the reader leaves', async () => {
    const endings: string[] = []
    const reply = replyFromBytes(init(true), 'events', parts(says('a'), says('b'))).observe({
      end: ({ kind }) => endings.push(kind),
    })
    for await (const _ of reply.bytes()) break
    expect(endings).toEqual(['aborted'])
  })
})

describe('a reply that is changed', () => {
  it('is changed in a stream and in a document alike', async () => {
    expect(await drain(replyFromBytes(init(true), 'events', parts(stream)).through(upper))).toContain('"content":"A"')
    expect(JSON.parse(await drain(replyFromBytes(init(false), 'json', parts(json)).through(upper)))).toMatchObject({
      choices: [{ message: { content: 'AB' } }],
    })
  })

  it('gives out what a transform held back, through those after it', async () => {
    const held: Chunk[] = []
    const holding = { push: (chunk: Chunk) => void held.push(chunk), end: () => held }
    const text = await drain(replyFromBytes(init(true), 'events', parts(stream)).through(holding).through(upper))
    expect(text).toContain('"content":"A"')
  })

  it('is left alone when it is an error of the runner', async () => {
    const reply = replyFromBytes(init(false, { status: 400 }), 'opaque', parts('no')).through(upper)
    expect(await drain(reply)).toBe('no')
  })
})

describe('a reply in another shape than asked for', () => {
  it('becomes a stream when the runner answered with a document', async () => {
    const text = await drain(replyFromBytes(init(true), 'json', parts(json)))
    expect(text).toMatch(/^data: .*"content":"ab".*\n\ndata: .*"finish_reason":"stop".*\n\ndata: \[DONE\]\n\n$/s)
  })

  it('becomes a document when the runner answered with a stream', async () => {
    expect(JSON.parse(await drain(replyFromBytes(init(false), 'events', parts(stream))))).toMatchObject({
      choices: [{ index: 0, message: { content: 'ab' }, finish_reason: 'stop' }],
      usage: { completion_tokens: 2 },
    })
  })
})

describe('a stream that is not whole', () => {
  it.each([
    ['without a finish reason', [says('a')]],
    ['with nothing at all', []],
  ])('%s fails, watched or not', async (_, texts) => {
    await expect(drain(replyFromBytes(init(true), 'events', parts(...texts)))).rejects.toThrow(
      /before the answer was complete/,
    )
    const watched = replyFromBytes(init(true), 'events', parts(...texts)).observe({ chunk: () => undefined })
    await expect(drain(watched)).rejects.toThrow(/before the answer was complete/)
  })

  it('fails with what the runner reports in band', async () => {
    const broken = says('a') + event({ error: { message: 'busy', code: 502 } })
    await expect(drain(replyFromBytes(init(true), 'events', parts(broken)).through(upper))).rejects.toThrow('busy')
  })

  it('is whole when every choice has finished, though the end mark is missing', async () => {
    expect(await drain(replyFromBytes(init(true), 'events', parts(says('a', 'stop'))))).toBe(says('a', 'stop'))
  })
})

describe('collect()', () => {
  it('gives the whole answer, from whatever shape', async () => {
    const completion = { choices: [{ index: 0, message: { role: 'assistant', content: 'ab' }, finish_reason: 'stop' }] }
    expect(await replyFromCompletion(init(true), completion).collect()).toEqual({ completion, complete: true })
  })
})
