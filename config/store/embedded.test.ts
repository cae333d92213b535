import { describe, expect, test } from 'vitest'
import type { Script } from '../../plugins/store.ts'
import { createManualClock } from '../../test/support/clock.ts'
import { createEmbeddedStore } from './embedded.ts'

const counter: Script = {
  name: 'count',
  lua: '',
  local(memory, [key = ''], [ttl]) {
    const next = Number(memory.get(key) ?? 0) + 1
    memory.set(key, String(next), ttl ? Number(ttl) : undefined)
    return [next]
  },
}

describe('the embedded store', () => {
  test('a value is gone when its time is over, and not before', async () => {
    const clock = createManualClock()
    const store = createEmbeddedStore(clock)
    await store.set('a', Buffer.from('x'), 1000)
    clock.advance(999)
    expect(String(await store.get('a'))).toBe('x')
    clock.advance(1)
    expect(await store.get('a')).toBeUndefined()
  })

  test('a value for no time is not kept', async () => {
    const store = createEmbeddedStore(createManualClock())
    await store.set('a', Buffer.from('x'), 1000)
    await store.set('a', Buffer.from('y'), 0)
    expect(await store.get('a')).toBeUndefined()
  })

  test('only the first of two adds keeps its bytes', async () => {
    const store = createEmbeddedStore(createManualClock())
    expect(await store.add('a', Buffer.from('1'), 1000)).toBe(true)
    expect(await store.add('a', Buffer.from('2'), 1000)).toBe(false)
    expect(String(await store.get('a'))).toBe('1')
  })

  test('a kept value does not change with the buffer it came from', async () => {
    const store = createEmbeddedStore(createManualClock())
    const bytes = Buffer.from('abc')
    await store.set('a', bytes, 1000)
    bytes.fill('z')
    expect(String(await store.get('a'))).toBe('abc')
  })

  test('the least recently used value makes room for a new one', async () => {
    const store = createEmbeddedStore(createManualClock(), { values: { maxBytes: 1300 } })
    for (const key of ['a', 'b', 'c']) await store.set(key, Buffer.alloc(300), 1000)
    await store.get('a')
    await store.set('d', Buffer.alloc(300), 1000)
    const left = await Promise.all(['a', 'b', 'c', 'd'].map((key) => store.get(key)))
    expect(left.map((value) => value !== undefined)).toEqual([true, false, true, true])
  })

  test('a value larger than all there is room for is not kept and pushes nothing out', async () => {
    const store = createEmbeddedStore(createManualClock(), { values: { maxBytes: 1000 } })
    await store.set('a', Buffer.alloc(100), 1000)
    await store.set('b', Buffer.alloc(2000), 1000)
    expect(await store.get('a')).toBeDefined()
    expect(await store.get('b')).toBeUndefined()
  })

  test('a script counts across runs until its key expires, and no value pushes the count out', async () => {
    const clock = createManualClock()
    const store = createEmbeddedStore(clock, { values: { maxBytes: 1000, maxEntries: 1 } })
    await store.run(counter, ['n'], [500])
    await store.set('x', Buffer.alloc(100), 1000)
    await store.set('y', Buffer.alloc(100), 1000)
    expect(await store.run(counter, ['n'], [500])).toEqual([2])
    clock.advance(500)
    expect(await store.run(counter, ['n'], [500])).toEqual([1])
  })

  test('what a script keeps can be read, replaced and deleted as a value', async () => {
    const store = createEmbeddedStore(createManualClock())
    await store.run(counter, ['n'], [])
    expect(String(await store.get('n'))).toBe('1')
    await store.set('n', Buffer.from('41'), 1000)
    expect(await store.run(counter, ['n'], [])).toEqual([42])
    await store.delete('n')
    expect(await store.get('n')).toBeUndefined()
  })

  test('expired counters are swept by later writes, so that many short-lived keys take no lasting room', async () => {
    const clock = createManualClock()
    const store = createEmbeddedStore(clock, { counters: { maxEntries: 1_000_000 } })
    for (let i = 0; i < 1000; i++) await store.run(counter, [`a${i}`], [10])
    clock.advance(10)
    for (let i = 0; i < 1000; i++) await store.run(counter, [`b${i}`], [10])
    // deletePrefix counts what is really there, expired or not.
    expect(await store.deletePrefix('a')).toBe(0)
    expect(await store.deletePrefix('b')).toBe(1000)
  })

  test('the number of counters is bounded', async () => {
    const store = createEmbeddedStore(createManualClock(), { counters: { maxEntries: 100 } })
    for (let i = 0; i < 500; i++) await store.run(counter, [`k${i}`], [])
    expect(await store.deletePrefix('k')).toBe(100)
  })

  test('deleting a prefix takes exactly the keys that begin with it', async () => {
    const store = createEmbeddedStore(createManualClock())
    for (const key of ['t:1:a', 't:1:b', 't:10:a', 'x']) await store.set(key, Buffer.from('v'), 1000)
    expect(await store.deletePrefix('t:1:')).toBe(2)
    expect(await store.get('t:10:a')).toBeDefined()
    expect(await store.get('x')).toBeDefined()
  })

  test('keys of one run without one hash tag are refused, as a cluster would', async () => {
    const store = createEmbeddedStore(createManualClock())
    await expect(store.run(counter, ['{a}1', '{b}2'], [])).rejects.toMatchObject({ code: 'internal' })
    await expect(store.run(counter, ['{a}1', '{a}2'], [])).resolves.toEqual([1])
  })

  test('a stream keeps its newest entries', async () => {
    const store = createEmbeddedStore(createManualClock())
    for (let i = 0; i < 5; i++) await store.append('s', { i: String(i) }, 3)
    expect(store.entries('s').map((entry) => entry.fields['i'])).toEqual(['2', '3', '4'])
  })
})
