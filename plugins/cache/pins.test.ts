import { describe, expect, test } from 'vitest'
import { completionFromChunks } from '../chunks.ts'
import { GatewayError } from '../errors.ts'
import { chat, completion, createRig } from './test-rig.ts'

const pinned = completion('curated', { id: 'p1' })

describe('a curated answer', () => {
  test('is given to whoever asks just that, in the shape asked for, and to nobody else', async () => {
    const rig = createRig({ pinned: [{ request: chat('hi') as never, response: pinned }] })
    const got = await rig.ask(chat('hi', { user: 'me' }))
    expect(got).toMatchObject({ status: 'Foldgate;hit;detail=pinned', source: 'cache' })
    expect(JSON.parse(got.text)).toEqual(pinned)
    const streamed = await rig.ask(chat('hi', { stream: true }), { tenant: 't2' })
    const events = streamed.text.split('\n\n').filter((event) => event.startsWith('data: {'))
    expect(completionFromChunks(events.map((event) => JSON.parse(event.slice(6)))).choices).toEqual(pinned.choices)
    for (const other of [chat('hi', { temperature: 0 }), chat('ho'), { ...chat('hi'), model: 'large' }]) {
      expect((await rig.ask(other)).source).toBe('runner')
    }
    expect((await rig.ask(chat('hi'), { route: 'messages' })).source).toBe('runner')
  })

  test('by fields is given whatever the parameters, under their hooks, and for its model only if it names one', async () => {
    const rig = createRig({
      input_hash_fields: ['messages[-1].content'],
      preprocess_hooks: [{ field: 'messages[-1].content', function: 'strip_trailing_punctuation' }],
      pinned: [
        { fields: { 'messages[-1].content': 'opening hours?' }, response: 'nine to five' },
        { fields: { 'messages[-1].content': 'opening hours?' }, model: 'large', response: 'always' },
      ],
    })
    const text = async (body: object) => JSON.parse((await rig.ask(body)).text).choices[0].message.content
    expect(await text(chat('opening hours', { temperature: 1 }))).toBe('nine to five')
    expect(await text({ ...chat('opening hours'), model: 'large' })).toBe('always')
    expect(await text(chat('closing hours'))).toBe('hello')
  })

  test('of a tenant is for that tenant, and comes before everybody’s', async () => {
    const request = chat('hi') as never
    const rig = createRig({
      pinned: [
        { request, response: 'all' },
        { request, tenant: 'a', response: 'only a' },
      ],
    })
    expect((await rig.ask(chat('hi'), { tenant: 'a' })).text).toContain('only a')
    for (const tenant of ['b', null]) expect((await rig.ask(chat('hi'), { tenant })).text).toContain('all')
  })

  test('never expires, survives a purge, and is given also where nothing is stored', async () => {
    const rig = createRig({ ttl_seconds: 0, pinned: [{ request: chat('hi') as never, response: pinned }] })
    await rig.acting.purge({})
    rig.host.clock.advance(1e10)
    expect((await rig.ask(chat('hi'))).text).toContain('curated')
    expect((await rig.ask(chat('hi'), { headers: { 'x-cache-hint': 'refresh' } })).source).toBe('runner')
  })

  test('comes from a file, one a line', async () => {
    const line = (content: string) => JSON.stringify({ request: chat(content), response: `to ${content}` })
    const rig = createRig({ importFile: 'faq.jsonl' }, { files: { 'faq.jsonl': `${line('a')}\n\n${line('b')}\n` } })
    expect((await rig.ask(chat('a'))).text).toContain('to a')
    expect((await rig.ask(chat('b'))).text).toContain('to b')
    expect((await rig.ask(chat('c'))).source).toBe('runner')
  })

  test('that is wrong is named with its place, all at once', () => {
    const files = { f: `{"response":"x"}\nnot json\n{"request":{"model":"m"},"response":"x"}` }
    const open = () => createRig({ importFile: 'f', pinned: [{ fields: { a: 1 }, response: 'x' }] }, { files })
    expect(open).toThrow(GatewayError)
    try {
      open()
    } catch (reason) {
      const paths = (reason as GatewayError).detail.faults?.map((fault) => fault.path)
      expect(new Set(paths?.map((path) => path.split(':')[0]))).toEqual(
        new Set(['pinned[0]', 'importFile line 1', 'importFile line 2', 'importFile line 3']),
      )
    }
  })
})
