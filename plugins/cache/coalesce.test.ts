import { describe, expect, test, vi } from 'vitest'
import { createGate } from '../../test/support/gate.ts'
import { gatewayError } from '../errors.ts'
import {
  answerTo,
  chat,
  completion,
  createRig,
  done,
  eventOf,
  type Got,
  jsonReply,
  type Rig,
  streamReply,
} from './test-rig.ts'

/** Fifty callers at once, of whom the first reaches the runner. */
async function fifty(rig: Rig, signals: readonly AbortSignal[] = []): Promise<Promise<Got>[]> {
  const asked = Array.from({ length: 50 }, (_, index) => {
    const signal = signals[index]
    return rig.ask(chat('hi'), signal ? { signal } : {})
  })
  for (const each of asked) each.catch(() => {})
  await vi.waitFor(() => expect(rig.reached.length).toBeGreaterThan(0))
  return asked
}

/** A runner that holds each call until its gate opens. */
function gated(rig: Rig) {
  const gates = Array.from({ length: 60 }, createGate)
  rig.runner = async (call) => {
    const at = rig.reached.length - 1
    await gates[at]?.opened
    call.signal.throwIfAborted()
    return answerTo(call, completion(`answer ${at}`))
  }
  return gates
}

// B09
describe('fifty identical cold calls', () => {
  test('reach the runner once, and all get its answer', async () => {
    const rig = createRig()
    const gates = gated(rig)
    const asked = await fifty(rig)
    gates[0]?.open()
    const got = await Promise.all(asked)
    expect(rig.reached).toHaveLength(1)
    expect(new Set(got.map((each) => JSON.stringify(JSON.parse(each.text).choices[0].message))).size).toBe(1)
    expect(got.filter((each) => each.source === 'cache')).toHaveLength(49)
    expect(got[1]?.status).toBe('Foldgate;fwd=miss;collapsed;ttl=300')
    expect(rig.host.counts.get('cache.coalesced')).toBe(49)
  })

  test('get the answer in the shape each asked for, also while it is a stream that leads', async () => {
    const rig = createRig()
    const gates = gated(rig)
    const lead = rig.ask(chat('hi', { stream: true }))
    await vi.waitFor(() => expect(rig.reached).toHaveLength(1))
    const whole = rig.ask(chat('hi'))
    const streamed = rig.ask(chat('hi', { stream: true }))
    gates[0]?.open()
    expect((await lead).text).toContain('answer 0')
    expect(JSON.parse((await whole).text)).toEqual(completion('answer 0'))
    expect((await streamed).text).toContain(done)
    expect(rig.reached).toHaveLength(1)
  })

  test('when the one that leads fails, one takes over and the rest get that answer', async () => {
    const rig = createRig()
    rig.runner = async (call) => {
      if (rig.reached.length === 1) throw gatewayError('runner_error', 'the runner failed')
      return answerTo(call, completion('second'))
    }
    const asked = await fifty(rig)
    const got = await Promise.allSettled(asked)
    expect(got[0]).toMatchObject({ status: 'rejected', reason: { code: 'runner_error' } })
    expect(got.slice(1).every((each) => each.status === 'fulfilled' && each.value.text.includes('second'))).toBe(true)
    expect(rig.reached).toHaveLength(2)
  })

  test('when the runner answers the one that leads with 500, one takes over', async () => {
    const rig = createRig()
    rig.runner = async (call) =>
      rig.reached.length === 1 ? jsonReply({ error: { message: 'no' } }, 500) : answerTo(call, completion())
    const got = await Promise.all(await fifty(rig))
    expect(rig.reached).toHaveLength(2)
    expect(got.filter((each) => each.text.includes('hello'))).toHaveLength(49)
  })

  test('when the caller that leads leaves, one takes over', async () => {
    const rig = createRig()
    const gates = gated(rig)
    const leaving = new AbortController()
    const asked = await fifty(rig, [leaving.signal])
    leaving.abort()
    await vi.waitFor(() => expect(rig.reached).toHaveLength(2))
    gates[1]?.open()
    const got = await Promise.all(asked.slice(1))
    expect(got.every((each) => each.text.includes('answer 1'))).toBe(true)
    expect(rig.reached).toHaveLength(2)
    gates[0]?.open()
    await expect(asked[0]).rejects.toBeDefined()
    expect((await rig.ask(chat('hi'))).text).toContain('answer 1')
  })

  test('when the caller that leads leaves in the middle of its stream, one takes over', async () => {
    const rig = createRig()
    const gate = createGate()
    rig.runner = async (call) => {
      if (rig.reached.length > 1) return answerTo(call, completion('second'))
      return streamReply(
        (async function* () {
          yield eventOf({ choices: [{ index: 0, delta: { content: 'half' }, finish_reason: null }] })
          await gate.opened
        })(),
      )
    }
    const leader = await rig.open(chat('hi', { stream: true }))
    const reading = leader.bytes()[Symbol.asyncIterator]()
    await reading.next()
    const follower = rig.ask(chat('hi', { stream: true }))
    gate.open()
    await reading.return?.()
    expect((await follower).text).toContain('second')
    expect(rig.reached).toHaveLength(2)
  })

  test('when callers leave one after another, also those that took over, the last still gets an answer', async () => {
    const rig = createRig()
    const gates = gated(rig)
    const leaving = Array.from({ length: 49 }, () => new AbortController())
    const asked = await fifty(
      rig,
      leaving.map((each) => each.signal),
    )
    // One that waits leaves first, then whoever leads, ten times over; then all at once.
    leaving[20]?.abort()
    for (let i = 0; i < 10; i++) {
      leaving[i]?.abort()
      await vi.waitFor(() => expect(rig.reached).toHaveLength(i + 2))
    }
    for (const each of leaving) each.abort()
    await vi.waitFor(() => expect(rig.reached).toHaveLength(12))
    for (const gate of gates) gate.open()
    const got = await Promise.allSettled(asked)
    expect(got.filter((each) => each.status === 'fulfilled')).toHaveLength(1)
    expect(got[49]).toMatchObject({ status: 'fulfilled', value: { text: expect.stringContaining('answer 11') } })
  })

  test('when the answer is not one to keep, each goes on by itself, and the next do not even wait', async () => {
    const rig = createRig()
    const gates = gated(rig)
    const cut = completion('cut', {
      choices: [{ index: 0, message: { role: 'assistant', content: 'cut' }, finish_reason: 'length' }],
    })
    rig.runner = async (call) => {
      await gates[rig.reached.length - 1]?.opened
      return answerTo(call, cut)
    }
    const asked = await fifty(rig)
    gates[0]?.open()
    await vi.waitFor(() => expect(rig.reached).toHaveLength(50))
    const [a, b] = [rig.ask(chat('hi')), rig.ask(chat('hi'))]
    await vi.waitFor(() => expect(rig.reached).toHaveLength(52))
    for (const gate of gates) gate.open()
    await Promise.all([...asked, a, b])
    expect(rig.host.counts.get('cache.stored')).toBeUndefined()
  })

  test('wait no longer than they are told to', async () => {
    const rig = createRig({ coalesceWaitMs: 30 })
    const gates = gated(rig)
    const asked = await fifty(rig)
    await vi.waitFor(() => expect(rig.reached).toHaveLength(50))
    for (const gate of gates) gate.open()
    expect((await Promise.all(asked)).every((each) => each.source === 'runner')).toBe(true)
  })

  test('do not wait at all where waiting is off, and two tenants never wait for each other', async () => {
    const off = createRig({ coalesceWaitMs: 0 })
    const gatesOff = gated(off)
    const asked = [off.ask(chat('hi')), off.ask(chat('hi'))]
    await vi.waitFor(() => expect(off.reached).toHaveLength(2))
    for (const gate of gatesOff) gate.open()
    await Promise.all(asked)
    const two = createRig()
    const gates = gated(two)
    const both = [two.ask(chat('hi'), { tenant: 'a' }), two.ask(chat('hi'), { tenant: 'b' })]
    await vi.waitFor(() => expect(two.reached).toHaveLength(2))
    for (const gate of gates) gate.open()
    await Promise.all(both)
  })
})
