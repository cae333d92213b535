import { describe, expect, test } from 'vitest'
import { post } from '../support/ask.ts'
import { chat, completion } from '../support/chat-replies.ts'
import { connect } from '../support/client.ts'
import type { Exchange } from '../support/exchange.ts'
import { until } from '../support/gate.ts'
import { failOnLeaks } from '../support/leaks.ts'
import { type Reply, rawReply } from '../support/reply.ts'
import { chatRequest, startRig, streamRequest } from './rig.ts'
import { stacks } from './stacks.ts'

failOnLeaks()

const gone = rawReply().reset()
const closed = rawReply().fin()

/** Serves each connection once, and breaks it when it is used again. */
function onceEach(breaking: Reply) {
  const served = new Set<number>()
  return (request: Exchange): Reply | Promise<Reply> => {
    if (served.has(request.connection)) return breaking
    served.add(request.connection)
    return chat('hi')(request)
  }
}

describe.each(stacks)('F01 behind $name', (stack) => {
  test.each([
    ['reset', gone],
    ['closed', closed],
  ])('a connection that is %s just as it is used again costs a replay, not a 502', async (_, breaking) => {
    await using rig = await startRig(onceEach(breaking), { stack })
    for (const request of [chatRequest(), chatRequest(), streamRequest(), streamRequest()]) {
      const answer = await post(rig.chat, request)
      expect(answer.status, answer.text).toBe(200)
      expect(answer.text).toContain('hi')
    }
    expect(rig.u.accepted).toBe(4)
    expect(rig.u.requests).toHaveLength(7)
  })
})

test.each([
  ['reset', gone],
  ['closed', closed],
])('F01 a new connection that is %s is the runner’s failure, and not tried again', async (_, breaking) => {
  await using rig = await startRig(breaking)
  const answer = await post(rig.chat, chatRequest())
  expect([answer.status, answer.json().error.code]).toEqual([502, 'runner_error'])
  expect(rig.u.requests).toHaveLength(1)
})

test('F01 a replay that breaks as well is not repeated', async () => {
  const replies = [completion('hi'), gone, gone, completion('never')]
  await using rig = await startRig(replies)
  await post(rig.chat, chatRequest())
  expect((await post(rig.chat, chatRequest())).status).toBe(502)
  expect(rig.u.requests).toHaveLength(3)
})

test('F01 once a byte of the answer has come, nothing is replayed', async () => {
  await using rig = await startRig([
    completion('hi'),
    rawReply('HTTP/1.1 200 OK\r\nContent-Le').reset(),
    completion('never'),
  ])
  await post(rig.chat, chatRequest())
  const answer = await post(rig.chat, chatRequest())
  expect(answer.status).toBe(502)
  expect(rig.u.requests).toHaveLength(2)
})

test.each(['fin', 'reset'] as const)(
  'F01 an idle connection that the runner ends (%s) as a call sets out costs nobody a 502',
  async (how) => {
    await using rig = await startRig(chat('hi'))
    for (let call = 0; call < 20; call++) {
      const answer = post(rig.chat, chatRequest())
      rig.u.closeIdle(how)
      expect((await answer).status, `call ${call}`).toBe(200)
    }
  },
)

test('F01 a connection is closed from our side before the runner’s hint runs out', async () => {
  // A hint of 2 seconds leaves no margin at all: the connection is not kept.
  await using rig = await startRig(chat('hi'), { upstream: { keepAliveHint: 2 }, runner: { keepAliveMs: 60_000 } })
  await post(rig.chat, chatRequest())
  await rig.u.deserted()
  expect((await rig.u.closed(0)).how).toBe('fin')
})

test('F01 an idle connection is kept no longer than configured, however much the runner would allow', async () => {
  await using rig = await startRig(chat('hi'), { upstream: { keepAliveHint: 600 }, runner: { keepAliveMs: 100 } })
  await post(rig.chat, chatRequest())
  expect(rig.u.openSockets).toBe(1)
  await rig.u.deserted()
})

test('F01 within that time it serves one call after the other', async () => {
  await using rig = await startRig(chat('hi'), { runner: { keepAliveMs: 60_000 } })
  for (let call = 0; call < 5; call++) await post(rig.chat, chatRequest())
  expect([rig.u.accepted, rig.u.requests.length]).toEqual([1, 5])
})

describe('F01 our own listener', () => {
  test('outlives the idle time of a load balancer in front, by default', async () => {
    await using rig = await startRig(chat('hi'))
    expect(rig.gateway.setup().config.listen.keepAliveTimeoutMs).toBeGreaterThan(60_000)
  })

  test('keeps an idle connection for as long as configured, and no longer', async () => {
    await using rig = await startRig(chat('hi'), { config: { listen: { keepAliveTimeoutMs: 300 } } })
    await using client = await connect(rig.chat)
    await client.request({ body: chatRequest() })
    const { at } = await (await client.response()).done()
    const ended = await client.closed()
    // Node adds a second of its own, so that what a peer sends just in time is still served.
    expect(ended.at - at).toBeGreaterThan(290)
    expect(ended.how).toBe('fin')
  })

  test('says on every answer that it is leaving, before it closes a connection', async () => {
    const drain = { delayMs: 400, graceMs: 1_000 }
    await using rig = await startRig(chat('hi'), { config: { drain } })
    await using client = await connect(rig.chat)
    await client.request({ body: chatRequest() })
    const first = await client.response()
    await first.done()
    expect(first.headers['connection']).not.toBe('close')
    const left = rig.gateway.leave('test')
    await client.request({ body: chatRequest() })
    const last = await client.response()
    await last.done()
    expect([last.status, last.headers['connection']]).toEqual([200, 'close'])
    expect((await client.closed()).how).toBe('fin')
    await left
  })

  test('answers what is under way when it leaves', async () => {
    await using rig = await startRig(completion('late'), { config: { drain: { delayMs: 0, graceMs: 5_000 } } })
    rig.u.play(async (request) => {
      await until(() => released, 'released')
      return chat('late')(request)
    })
    let released = false
    const answer = post(rig.chat, chatRequest())
    await rig.u.request(0)
    const left = rig.gateway.leave('test')
    released = true
    expect((await answer).status).toBe(200)
    await left
  })
})
