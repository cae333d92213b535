import { expect, it } from 'vitest'
import { createSlots } from './slots.ts'

const never = new AbortController().signal

it('places are given in the order they were asked for', async () => {
  const slots = createSlots(1, 5)
  const order: string[] = []
  const first = await slots.acquire(never)
  const waiting = ['a', 'b', 'c'].map((name) =>
    slots.acquire(never).then((release) => {
      order.push(name)
      release()
    }),
  )
  expect(slots.load()).toEqual({ running: 1, queued: 3, free: 0 })
  first()
  await Promise.all(waiting)
  expect(order).toEqual(['a', 'b', 'c'])
  expect(slots.load()).toEqual({ running: 0, queued: 0, free: 1 })
})

it('one that gives up while waiting leaves the queue, and its turn goes to the next', async () => {
  const slots = createSlots(1, 5)
  const release = await slots.acquire(never)
  const leave = new AbortController()
  const gone = slots.acquire(leave.signal)
  const next = slots.acquire(never)
  leave.abort(new RangeError('gone'))
  await expect(gone).rejects.toThrow(RangeError)
  release()
  ;(await next)()
  expect(slots.load().running).toBe(0)
})

it('a place given back twice is one place', async () => {
  const slots = createSlots(1, 0)
  const release = await slots.acquire(never)
  release()
  release()
  await slots.acquire(never)
  await expect(slots.acquire(never)).rejects.toMatchObject({ code: 'queue_full' })
})
