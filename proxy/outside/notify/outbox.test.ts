import { describe, expect, it } from 'vitest'
import { createGate } from '../../../test/support/gate.ts'
import { failOnLeaks } from '../../../test/support/leaks.ts'
import { createOutbox, type OutboxParts, type Try } from './outbox.ts'

failOnLeaks()

const arrived: Try = { done: true }
const again: Try = { done: false, again: true, words: 'it answered 503' }

/** An outbox of numbers; its waits are noted and take no time. */
function outboxOf(send: OutboxParts<number>['send'], options: Partial<OutboxParts<number>> = {}) {
  const waits: number[] = []
  const lost: string[] = []
  const outbox = createOutbox<number>({
    room: 3,
    random: () => 0,
    wait: async (ms) => void waits.push(ms),
    lost: (item, words) => void lost.push(`${item}: ${words}`),
    send,
    ...options,
  })
  return { outbox, waits, lost }
}

describe('an outbox', () => {
  it('sends in order, one at a time', async () => {
    const sent: number[] = []
    let under = 0
    const { outbox } = outboxOf(async (item) => {
      expect(++under).toBe(1)
      await null
      under--
      sent.push(item)
      return arrived
    })
    for (const item of [1, 2, 3]) outbox.put(item)
    await outbox.settled()
    outbox.put(4)
    await outbox.settled()
    expect(sent).toEqual([1, 2, 3, 4])
  })

  it('tries again ever later, and then gives up', async () => {
    const { outbox, waits, lost } = outboxOf(async () => again, { tries: 9 })
    outbox.put(1)
    await outbox.settled()
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
    expect(lost).toEqual(['1: it answered 503, 9 times'])
  })

  it('waits as long as it is told, but never longer than a minute', async () => {
    let tries = 0
    const told = [7_000, 3_600_000]
    const { outbox, waits } = outboxOf(async () => {
      const afterMs = told[tries++]
      return afterMs === undefined ? arrived : { ...again, afterMs }
    })
    outbox.put(1)
    await outbox.settled()
    expect(waits).toEqual([7_000, 60_000])
  })

  it('shortens its waits by up to half', async () => {
    const { outbox, waits } = outboxOf(async () => again, { tries: 3, random: () => 0.999_999 })
    outbox.put(1)
    await outbox.settled()
    expect(waits.map(Math.ceil)).toEqual([501, 1_001])
  })

  it('does not repeat what is hopeless, and repeats what throws', async () => {
    let tries = 0
    const { outbox, lost } = outboxOf(async (item) => {
      if (item === 1) return { done: false, again: false, words: 'it answered 404' }
      if (tries++ === 0) throw new Error('reset')
      return arrived
    })
    outbox.put(1)
    outbox.put(2)
    await outbox.settled()
    expect([lost, tries]).toEqual([['1: it answered 404'], 2])
  })

  it('lets the oldest go when too many wait', async () => {
    const gate = createGate()
    const sent: number[] = []
    const { outbox, lost } = outboxOf(async (item) => {
      await gate.opened
      sent.push(item)
      return arrived
    })
    for (const item of [1, 2, 3, 4, 5, 6]) outbox.put(item)
    expect(outbox.waiting).toBe(3)
    gate.open()
    await outbox.settled()
    expect([sent, lost]).toEqual([
      [1, 4, 5, 6],
      ['2: 3 are waiting already', '3: 3 are waiting already'],
    ])
  })

  it('closes in the middle of a real wait, with nothing left behind', async () => {
    const { outbox, lost } = outboxOf(async () => again)
    const real = outboxOf(async () => again, { wait: undefined as never })
    outbox.close()
    outbox.put(9)
    real.outbox.put(1)
    real.outbox.put(2)
    await null
    real.outbox.close()
    await real.outbox.settled()
    expect([...lost, ...real.lost].sort()).toEqual(['1: it is closed', '2: it is closed', '9: it is closed'])
  })
})
