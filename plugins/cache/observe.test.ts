import { describe, expect, test, vi } from 'vitest'
import { createGate } from '../../test/support/gate.ts'
import type { Side } from '../host.ts'
import { type Reply, replyFromBytes } from '../reply.ts'
import { answerTo, chat, completion, createRig, type Rig } from './test-rig.ts'

const observe = { mode: 'observe' } as const

/** The layer on each side over one store, as where gateway and runner share a Redis. */
function sides(...names: Side[]): Rig[] {
  const { store, clock } = createRig().host
  return names.map((side) => createRig({}, { side, store, clock }))
}

/** Stores that are under way are done. */
const stored = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('an observer', () => {
  test.each([false, true])(
    'keeps its own side warm: it answers at once when it decides (stream: %s)',
    async (stream) => {
      const rig = createRig({}, { side: 'runner' })
      expect(await rig.ask(chat('hi', { stream }), observe)).toMatchObject({ source: 'runner', status: '' })
      await stored()
      expect((await rig.ask(chat('hi', { stream }))).source).toBe('cache')
      expect(rig.reached).toHaveLength(1)
    },
  )

  test('neither answers, nor counts, nor changes what goes by', async () => {
    const rig = createRig()
    await rig.ask(chat('hi'))
    const before = new Map(rig.host.counts)
    for (const content of ['hi', 'new', 'hi']) {
      expect(await rig.ask(chat(content), observe)).toMatchObject({ source: 'runner', status: '' })
    }
    await stored()
    expect(rig.host.counts).toEqual(before)
    expect(rig.reached.map((call) => 'cacheKey' in call.facts)).toEqual([true, false, false, false])
  })

  test('waits for nobody, and nobody waits for it', async () => {
    const rig = createRig()
    const gate = createGate()
    rig.runner = async (call) => {
      await gate.opened
      return answerTo(call, completion())
    }
    const asked = [
      rig.ask(chat('hi')),
      rig.ask(chat('hi'), observe),
      rig.ask(chat('other'), observe),
      rig.ask(chat('other')),
    ]
    await vi.waitFor(() => expect(rig.reached).toHaveLength(4))
    gate.open()
    await Promise.all(asked)
  })

  test('keeps nothing that it would have answered itself, that must not be kept, or that is not whole', async () => {
    const pinned = createRig({ pinned: [{ request: chat('hi') as never, response: 'curated' }] })
    await pinned.ask(chat('hi'), observe)
    const refreshed = { headers: { 'cache-control': 'only-if-cached' } }
    await stored()
    expect((await pinned.ask(chat('hi'))).text).toContain('curated')

    const rig = createRig()
    await rig.ask(chat('a'), observe)
    await stored()
    rig.runner = async (call) => answerTo(call, completion('later'))
    rig.host.clock.advance(200_000)
    await rig.ask(chat('a'), observe)
    await rig.ask(chat('b'), { ...observe, ...refreshed })
    await rig.ask(chat('c'), { ...observe, headers: { 'cache-control': 'no-store' } })
    rig.runner = async (call) =>
      answerTo(
        call,
        completion('cut', {
          choices: [{ index: 0, message: { role: 'assistant', content: 'cut' }, finish_reason: 'length' }],
        }),
      )
    await rig.ask(chat('d'), observe)
    await stored()
    expect(await rig.ask(chat('a'))).toMatchObject({ source: 'cache', text: expect.stringContaining('hello') })
    for (const content of ['b', 'c', 'd']) expect((await rig.ask(chat(content))).source, content).toBe('runner')
  })

  test('asks no judge, so where answers are scored it keeps none', async () => {
    const quality_score = { min: 0.5, scorer: { url: 'http://scorer/score' }, retryLargest: true }
    const rig = createRig({ output_validation: { quality_score } })
    await rig.ask(chat('hi'), observe)
    await stored()
    expect(rig.host.sent).toEqual([])
    expect((await rig.ask(chat('hi'))).source).toBe('runner')
  })

  test('takes an answer to be as old as whoever gave it says', async () => {
    const aged = (age: string) => async (): Promise<Reply> => {
      const bytes = [Buffer.from(JSON.stringify(completion()))]
      return replyFromBytes({ status: 200, headers: { age }, streamed: false, source: 'runner' }, 'json', bytes)
    }
    const rig = createRig({ ttl_seconds: 100 })
    rig.runner = aged('60')
    await rig.ask(chat('hi'), observe)
    await stored()
    expect((await rig.ask(chat('hi'))).headers).toMatchObject({ age: '60', 'cache-status': 'Foldgate;hit;ttl=40' })
    rig.host.clock.advance(40_000)
    expect((await rig.ask(chat('hi'))).source).toBe('runner')
    rig.runner = aged('100')
    await rig.ask(chat('too old'), observe)
    await stored()
    expect((await rig.ask(chat('too old'))).source).toBe('runner')
  })

  test('of a call that fails leaves nothing behind', async () => {
    const rig = createRig()
    rig.runner = async () => Promise.reject(new TypeError('broken'))
    await expect(rig.ask(chat('hi'), observe)).rejects.toMatchObject({ code: 'internal' })
    rig.runner = async (call) => answerTo(call, completion())
    expect((await rig.ask(chat('hi'))).source).toBe('runner')
  })
})

test('no two sides share an answer or a purge, whichever of them decides', async () => {
  const [gateway, runner, copy] = sides('gateway', 'runner', 'copy') as [Rig, Rig, Rig]
  await gateway.ask(chat('hi'))
  await runner.ask(chat('hi'), observe)
  await stored()
  expect((await copy.ask(chat('hi'))).source).toBe('runner')
  await gateway.acting.purge({})
  expect((await gateway.ask(chat('hi'))).source).toBe('runner')
  expect((await runner.ask(chat('hi'))).source).toBe('cache')
  expect((await copy.ask(chat('hi'))).source).toBe('cache')
})
