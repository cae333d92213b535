import { describe, expect, test } from 'vitest'
import { begin, post } from '../support/ask.ts'
import { chat, chatChunk, completionBody, dataEvent, fault, sseHead } from '../support/chat-replies.ts'
import { connect } from '../support/client.ts'
import { until } from '../support/gate.ts'
import { startTestGateway } from '../support/gateway.ts'
import { failOnLeaks } from '../support/leaks.ts'
import { rawReply, reply } from '../support/reply.ts'
import { startUpstream } from '../support/upstream.ts'
import { chatRequest, counted, messageRequest, type Rig, routesOf, startRig, streamRequest } from './rig.ts'
import { cached, type Stack, scanned, spliced } from './stacks.ts'

failOnLeaks()

// One call at a time: the next one is let in only when the last one's place has been given back.
const oneAtATime: Stack = {
  name: 'rate-limit',
  layers: {
    'rate-limit': { limits: [{ key_fields: ['client_ip'], concurrent: 1, tokens_per_minute: 1_000_000_000 }] },
  },
}
const stacks = [spliced, cached, oneAtATime, scanned]
const word = dataEvent(chatChunk({ content: 'word' }))
const half = JSON.stringify(completionBody('whole')).slice(0, 50)
// Not even a status line.
const mute = rawReply().stall()
const stalling = {
  'while the head is awaited': mute,
  'after the head': sseHead().stall(),
  'between two chunks': sseHead().send(word, word).stall(),
}
const silent = reply(200, { 'Content-Type': 'application/json' })

describe.each(stacks)('A16 behind $name', (stack) => {
  test.each(Object.entries(stalling))('a caller that leaves a stream %s takes the runner along', async (_, stalled) => {
    await using rig = await startRig(stalled, { stack })
    await leave(rig, 'chat', streamRequest())
    await servesTheNext(rig)
  })

  test.each([
    ['before its head', mute],
    ['in its middle', silent.send(half).stall()],
  ])('a caller that leaves a whole answer %s takes the runner along', async (_, stalled) => {
    await using rig = await startRig(stalled, { stack })
    await leave(rig, 'chat', chatRequest())
    await servesTheNext(rig)
  })

  test('a caller that leaves a message stream takes the runner along', async () => {
    await using rig = await startRig(sseHead().send(word).stall(), { stack })
    await leave(rig, 'messages', messageRequest({ stream: true }))
    await servesTheNext(rig)
  })
})

test('A16 a caller that leaves while its call waits for a connection is never seen by the runner', async () => {
  await using rig = await startRig(sseHead().send(word).stall(), { runner: { maxConnections: 1 } })
  await using first = await begin(rig.chat, { body: streamRequest() })
  await first.response.shows('word')
  const queued = await connect(rig.chat)
  await queued.request({ body: streamRequest() })
  await until(async () => (await counted(rig.gateway, 'inflight_requests')) === 2, 'both calls are under way')
  queued.vanish()
  await until(async () => (await counted(rig.gateway, 'inflight_requests')) === 1, 'the queued call is over')
  rig.u.play(chat('next'))
  first.client.vanish()
  expect((await post(rig.chat, chatRequest())).json().choices[0].message.content).toBe('next')
  expect(rig.u.requests).toHaveLength(2)
})

test('A16 a caller that leaves during the second try takes the second runner along', async () => {
  await using busy = await startUpstream(fault(503, 'busy'))
  await using slow = await startUpstream(mute)
  await using gateway = await startTestGateway({ runners: [busy.url, slow.url] })
  const client = await connect(routesOf(gateway.url).chat)
  await client.request({ body: streamRequest() })
  await slow.began(0)
  client.vanish()
  const { at } = await slow.closed(0, 1_000)
  expect(at).toBeGreaterThan(0)
  expect(busy.requests).toHaveLength(1)
})

test('A16 a caller that leaves before the first byte does not make its runner look ill', async () => {
  await using rig = await startRig(mute, { runner: { ejectAfter: 1 } })
  await leave(rig, 'chat', streamRequest())
  await servesTheNext(rig)
})

test('A16 the caller leaving and the time-out are both heard', async () => {
  await using rig = await startRig(sseHead().send(word).stall(), { runner: { idleTimeoutMs: 300 } })
  const timed = await post(rig.chat, streamRequest())
  expect(timed.text).toContain('runner_timeout')
  await leave(rig, 'chat', streamRequest())
})

async function leave(rig: Rig, route: 'chat' | 'messages', body: unknown): Promise<void> {
  const index = rig.u.requests.length
  const client = await connect(rig[route])
  await client.request({ body })
  const request = await rig.u.request(index)
  await request.stalled()
  const left = performance.now()
  client.vanish()
  const { at } = await request.closed(2_000)
  expect(at - left).toBeLessThan(1_000)
}

async function servesTheNext(rig: Rig): Promise<void> {
  await until(async () => (await counted(rig.gateway, 'inflight_requests')) === 0, 'no call is under way')
  expect(await counted(rig.gateway, 'requests_total', /code="499"/)).toBe(1)
  rig.u.play(chat('next'))
  const answer = await post(rig.chat, chatRequest())
  expect(answer.status, answer.text).toBe(200)
  expect(answer.json().choices[0].message.content).toBe('next')
}
