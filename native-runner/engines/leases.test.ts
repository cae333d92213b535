import { expect, it } from 'vitest'
import { createLeases } from './leases.ts'
import type { Sequence } from './native.ts'

/** A sequence that remembers tokens as a real one does. */
function fakeSequence(): Sequence & { learn(tokens: number[]): void } {
  let known: number[] = []
  return {
    get nextTokenIndex() {
      return known.length
    },
    get contextTokens() {
      return known
    },
    async adaptStateToTokens(tokens) {
      let same = 0
      while (same < known.length && known[same] === tokens[same]) same++
      known = known.slice(0, same)
    },
    async clearHistory() {
      known = []
    },
    learn(tokens) {
      known = [...tokens]
    },
    evaluateWithoutGeneratingNewTokens: async () => undefined,
    async *evaluate() {},
  }
}

async function use(leases: ReturnType<typeof createLeases>, tokens: number[], scope: string) {
  const lease = await leases.lease(tokens, scope)
  ;(lease.sequence as ReturnType<typeof fakeSequence>).learn([...tokens, 99])
  return lease
}

it('the next turn of a conversation gets the sequence that knows it, but for its last token', async () => {
  const leases = createLeases([fakeSequence(), fakeSequence()])
  const a = await use(leases, [1, 2, 3], 't')
  const b = await use(leases, [7, 8, 9], 't')
  a.release(false)
  b.release(false)
  const next = await leases.lease([1, 2, 3, 99, 4], 't')
  expect(next.sequence).toBe(a.sequence)
  expect(next.cached).toBe(4)
  next.release(false)
  expect((await leases.lease([7, 8, 9], 't')).cached).toBe(2)
})

it('another scope never meets the state of a first one, with one sequence or with several', async () => {
  const one = createLeases([fakeSequence()])
  ;(await use(one, [1, 2, 3], 'alice')).release(false)
  const foreign = await one.lease([1, 2, 3, 4], 'bob')
  expect(foreign.cached).toBe(0)
  foreign.release(false)
  const two = createLeases([fakeSequence(), fakeSequence()])
  ;(await use(two, [1, 2, 3], 'alice')).release(false)
  expect((await two.lease([1, 2, 3, 4], 'bob')).cached).toBe(0)
})

it('a spoiled sequence starts anew', async () => {
  const leases = createLeases([fakeSequence()])
  ;(await use(leases, [1, 2, 3], 't')).release(true)
  expect((await leases.lease([1, 2, 3, 4], 't')).cached).toBe(0)
})

it('a short common beginning does not cost another conversation its state while a sequence is unused', async () => {
  const leases = createLeases([fakeSequence(), fakeSequence()])
  ;(await use(leases, [1, 2, 3, 4, 5, 6], 't')).release(false)
  ;(await leases.lease([1, 20, 30], 't')).release(false)
  expect((await leases.lease([1, 2, 3, 4, 5, 6, 7], 't')).cached).toBe(6)
})

it('who finds no sequence waits for one', async () => {
  const leases = createLeases([fakeSequence()])
  const first = await leases.lease([1], 't')
  const second = leases.lease([2], 't')
  first.release(false)
  expect((await second).sequence).toBe(first.sequence)
})
