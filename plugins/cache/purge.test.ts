import { describe, expect, test } from 'vitest'
import { createGate } from '../../test/support/gate.ts'
import type { Memory } from '../store.ts'
import type { PurgeScope } from './purges.ts'
import { appendNote } from './purges.ts'
import { answerTo, chat, completion, createRig, type Rig } from './test-rig.ts'

/** A cache with an answer for each of two tenants, routes and prompt versions. */
async function filled(): Promise<{ rig: Rig; left: () => Promise<string[]> }> {
  let version = '1'
  const rig = createRig({}, { insideDigest: () => version, promptVersion: () => version })
  const each = async (what: (name: string, ask: Parameters<Rig['ask']>[1]) => Promise<void>) => {
    for (version of ['1', '2'])
      for (const tenant of ['a', 'b'])
        for (const route of ['chat', 'messages'] as const)
          await what(`${tenant} ${route} ${version}`, { tenant, route })
  }
  await each(async (_, ask) => void (await rig.ask(chat('hi'), ask)))
  rig.host.clock.advance(1)
  return {
    rig,
    async left() {
      const names: string[] = []
      await each(async (name, ask) => {
        const headers = { 'cache-control': 'only-if-cached' }
        await rig.ask(chat('hi'), { ...ask, headers }).then(
          () => names.push(name),
          () => {},
        )
      })
      return names
    },
  }
}

describe('a purge', () => {
  test.each<[PurgeScope, (name: string) => boolean, number]>([
    [{}, () => true, 8],
    [{ tenant: 'a' }, (name) => name.startsWith('a'), 4],
    [{ route: 'chat' }, (name) => name.includes('chat'), 4],
    [{ promptVersion: '1' }, (name) => name.endsWith('1'), 4],
    [{ tenant: 'a', route: 'chat' }, (name) => name.startsWith('a chat'), 2],
    [{ tenant: 'a', route: 'chat', promptVersion: '2' }, (name) => name === 'a chat 2', 1],
    [{ tenant: 'nobody' }, () => false, 0],
  ])('of %j takes what fits and nothing else', async (scope, fits, count) => {
    const { rig, left } = await filled()
    const before = await left()
    expect(before).toHaveLength(8)
    expect(await rig.acting.purge(scope)).toBe(count)
    expect(await left()).toEqual(before.filter((name) => !fits(name)))
  })

  test('holds for the next configuration, and answers made afterwards are kept', async () => {
    const rig = createRig({}, { insideDigest: () => 'x', promptVersion: () => '1' })
    await rig.ask(chat('hi'))
    await rig.acting.purge({ promptVersion: '1' })
    const next = createRig({}, { ...doorsOf(rig), insideDigest: () => 'x', promptVersion: () => '1' })
    expect((await next.ask(chat('hi'))).source).toBe('runner')
    rig.host.clock.advance(1)
    await next.ask(chat('hi'))
    expect((await next.ask(chat('hi'))).source).toBe('cache')
  })

  test('takes an answer that was under way when it came', async () => {
    const rig = createRig()
    const gate = createGate()
    rig.runner = async (call) => {
      await gate.opened
      return answerTo(call, completion('old'))
    }
    const asked = rig.ask(chat('hi'))
    await rig.acting.purge({})
    rig.host.clock.advance(10)
    gate.open()
    expect((await asked).text).toContain('old')
    expect((await rig.ask(chat('hi'))).source).toBe('runner')
  })
})

test('notes that grow too long become one that takes everything', () => {
  const kept = new Map<string, string>()
  const memory: Memory = {
    now: 0,
    get: (key) => kept.get(key),
    set: (key, value) => void kept.set(key, value),
    delete: (key) => void kept.delete(key),
  }
  const note = (text: string) => appendNote.local(memory, ['k'], [text, 'ALL', '10', '1000'])
  note('aaaaaa')
  note('bbbbbb')
  expect(kept.get('k')).toBe('aaaaaabbbbbb')
  note('c')
  expect(kept.get('k')).toBe('ALL')
})

function doorsOf({ host }: Rig) {
  return { store: host.store, clock: host.clock }
}
