import { describe, expect, test } from 'vitest'
import { createManualTimers } from './test-timers.ts'
import { repeat } from './timers.ts'

describe('a repeated task', () => {
  test('is done every so often, at once when asked, and never twice at a time', async () => {
    const timers = createManualTimers()
    let [begun, under] = [0, 0]
    const open: (() => void)[] = []
    const task = repeat(timers, 100, async () => {
      begun++
      expect(++under).toBe(1)
      await new Promise<void>((done) => open.push(done))
      under--
    })
    await timers.advance(99)
    expect(begun).toBe(0)
    await timers.advance(1)
    expect(begun).toBe(1)
    // Asked for during a run: once more after it, however often it was asked for.
    const [some, same] = [task.now(), task.now()]
    await timers.advance(1_000)
    expect(begun).toBe(1)
    open.shift()?.()
    await timers.advance(0)
    expect(begun).toBe(2)
    open.shift()?.()
    await Promise.all([some, same])
    await timers.advance(100)
    expect(begun).toBe(3)
    const stopping = task.stop()
    open.shift()?.()
    await stopping
    await task.now()
    await timers.advance(1_000)
    expect(begun).toBe(3)
  })
})
