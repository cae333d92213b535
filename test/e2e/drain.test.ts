import { once } from 'node:events'
import { connect as dial } from 'node:net'
import { describe, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { foldgateHere } from '../../proxy/cli/test-command.ts'
import { postLive } from '../support/ask.ts'
import { connect } from '../support/client.ts'
import { until } from '../support/gate.ts'
import { chatBody, startLoad } from './drain-clients.ts'
import { type DrainRig, startDrainRig } from './drain-rig.ts'

const now = (): number => performance.now()
const chatOf = ({ url }: DrainRig): string => `${url}/v1/chat/completions`
const endedCalls = (rig: DrainRig) => rig.said('call').map(({ status, error }) => [status, error])

/** A stream from a gateway, once its first bytes have come. */
async function stream(rig: DrainRig, model: string, path = '/v1/chat/completions') {
  const asking = await postLive(`${rig.url}${path}`, chatBody(model, { stream: true, max_tokens: 9 }))
  await asking.response.part(0)
  return asking
}

describe('a pod that leaves under load', () => {
  test('loses no call: hook, endpoints, SIGTERM and the end, as Kubernetes has them', { timeout: 30_000 }, async () => {
    const delayMs = 1_500
    await using rig = await startDrainRig({ drain: { delayMs, graceMs: 5_000 } })
    const load = startLoad(chatOf(rig), 8)
    await using long = await stream(rig, 'long')
    await until(() => rig.upstream.requests.length > 50, 'the load is there')
    expect(await rig.ready()).toBe(true)

    const toldAt = now()
    // The preStop hook comes back at once, and SIGTERM follows it.
    expect(await foldgateHere(['drain', '--admin', rig.admin, '--reason', 'the pod is leaving'])).toMatchObject({
      code: 0,
    })
    expect(await rig.ready()).toBe(false)
    rig.process.signal('SIGTERM')
    await rig.process.shows(/"msg":"leaving"/)
    const leavingAt = now()
    const lateCalls = () => load.served.filter(({ sentAt }) => sentAt > leavingAt)
    await until(() => lateCalls().length >= 24, 'calls come in although readiness is gone')
    // Now the endpoint is gone from the balancer.
    load.leave()
    const goneAt = now()
    const served = await load.ended()
    expect(await long.response.done()).toMatchObject({ how: 'complete' })
    expect(long.response.text).toMatch(/\[DONE\]\n\n$/)
    expect(await rig.process.exit).toEqual({ code: 0, signal: null })

    expect(served.filter(({ status, whole }) => status !== 200 || !whole)).toEqual([])
    expect(goneAt - toldAt).toBeLessThan(delayMs)
    const late = lateCalls()
    expect(late.filter(({ connection }) => connection !== 'close')).toEqual([])
    expect(late.filter(({ fresh }) => fresh).length).toBeGreaterThan(0)
    // Every call that a client saw end stands in the log, and no other.
    expect(endedCalls(rig)).toEqual(Array.from({ length: served.length + 1 }, () => [200, undefined]))
    expect(rig.upstream.requests).toHaveLength(served.length + 1)
    const [end] = rig.said('every call has ended') as { delayMs: number; callsMs: number; cut: number }[]
    expect(end).toMatchObject({ by: 'SIGTERM', cut: 0 })
    expect(end!.delayMs).toBeLessThanOrEqual(delayMs + 300)
    console.log(
      `left in ${Math.round(now() - toldAt)} ms: ${end!.delayMs} ms delay, ${end!.callsMs} ms for the last calls; ` +
        `${served.length} calls, ${late.length} of them after readiness was gone`,
    )
  })

  test('the container of the model is held until its streams have ended', { timeout: 30_000 }, async () => {
    await using rig = await startDrainRig({ drain: { delayMs: 100, graceMs: 5_000 } })
    await using long = await stream(rig, 'long')
    const waited = fetch(`${rig.admin}/-/drain/wait`)
    await foldgateHere(['drain', '--admin', rig.admin])
    expect(await (await waited).json()).toEqual({ drained: true, inFlight: 0 })
    expect(long.response.text).toMatch(/\[DONE\]\n\n$/)
    expect(rig.process.stdout).not.toContain('leaving')
  })
})

describe('at the deadline', () => {
  test('streams end with an error that their dialect has, whatever signal comes meanwhile', {
    timeout: 30_000,
  }, async () => {
    const drain = { delayMs: 200, graceMs: 800 }
    await using rig = await startDrainRig({ drain })
    await using chat = await stream(rig, 'endless')
    await using message = await stream(rig, 'endless', '/v1/messages')
    await using slow = await stream(rig, 'flood')
    slow.client.pause()
    const toldAt = now()
    rig.process.signal('SIGTERM')
    await rig.process.shows(/"msg":"leaving"/)
    rig.process.signal('SIGTERM')
    rig.process.signal('SIGINT')
    for (const { response } of [chat, message]) expect(await response.done()).toMatchObject({ how: 'complete' })
    const cutAt = now() - toldAt
    expect(cutAt).toBeGreaterThan(drain.delayMs + drain.graceMs - 20)
    expect(chat.response.events.at(-1)?.data).toMatch(/^\{"error":\{.*"type":"server_error".*"code":"draining"/)
    expect(chat.response.text).not.toContain('[DONE]')
    expect(message.response.events.at(-1)).toMatchObject({
      type: 'error',
      data: expect.stringContaining('overloaded_error'),
    })
    expect(await rig.process.exit).toEqual({ code: 0, signal: null })
    const exitAt = now() - toldAt
    expect(exitAt).toBeLessThan(cutAt + 4_000)
    // One that does not read cannot be told: its connection is closed in the middle, so that it knows.
    slow.client.resume()
    expect((await slow.response.done()).how).not.toBe('complete')
    expect(endedCalls(rig)).toEqual(Array.from({ length: 3 }, () => [503, 'draining']))
    expect(rig.said('every call has ended')).toMatchObject([{ cut: 3 }])
    console.log(`cut ${Math.round(cutAt)} ms after SIGTERM, gone after ${Math.round(exitAt)} ms`)
  })

  test('an upgraded connection is closed with the others, and keeps no process', { timeout: 30_000 }, async () => {
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    await using rig = await startDrainRig({
      drain: { delayMs: 50, graceMs: 300 },
      config: { runners: [{ name: 'a', kind: 'openai', url: `http://127.0.0.1:${port}` }] },
    })
    const socket = new WebSocket(`${rig.url.replace('http', 'ws')}/v1/realtime`)
    await once(socket, 'open')
    rig.process.signal('SIGTERM')
    await once(socket, 'close')
    expect(await rig.process.exit).toEqual({ code: 0, signal: null })
    expect(endedCalls(rig)).toEqual([[503, 'draining']])
    server.close()
  })
})

describe('before the deadline', () => {
  test('a request that is still being sent is read to its end and answered', { timeout: 30_000 }, async () => {
    await using rig = await startDrainRig({ drain: { delayMs: 100, graceMs: 10_000 } })
    await using client = await connect(chatOf(rig))
    const body = JSON.stringify(chatBody('quick'))
    const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
    await client.write(head, body.slice(0, 9))
    rig.process.signal('SIGTERM')
    await until(() => refused(rig.url), 'the listener is closed')
    await client.write(body.slice(9))
    const response = await client.response()
    await response.done()
    expect([response.status, response.headers['connection']]).toEqual([200, 'close'])
    expect(await rig.process.exit).toEqual({ code: 0, signal: null })
  })

  test('connections that ask nothing hold nobody up, whether they ever have or not', { timeout: 30_000 }, async () => {
    await using rig = await startDrainRig({ drain: { delayMs: 100, graceMs: 60_000 } })
    await using idle = await connect(chatOf(rig))
    await using silent = await connect(chatOf(rig))
    await idle.request({ body: chatBody('quick') })
    await (await idle.response()).done()
    const toldAt = now()
    rig.process.signal('SIGTERM')
    expect(await Promise.all([idle.closed(8_000), silent.closed(8_000)])).toMatchObject([
      { how: 'fin' },
      { how: 'fin' },
    ])
    expect(await rig.process.exit).toEqual({ code: 0, signal: null })
    console.log(`gone ${Math.round(now() - toldAt)} ms after SIGTERM`)
  })
})

/** Whether nobody listens there any more. */
async function refused(url: string): Promise<boolean> {
  const { hostname: host, port } = new URL(url)
  const socket = dial({ host, port: Number(port) })
  const taken = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return !taken
}
