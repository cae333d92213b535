import { expect, test } from 'vitest'
import { allNative, layerStates, startFoldingRig } from '../test/e2e/folding-rig.ts'
import { failOnLeaks } from '../test/support/leaks.ts'
import { jsonEvents, sseEvents, streamedText } from '../test/support/sse-events.ts'
import type { StatusView } from './admin/operations.ts'
import type { ChangeView } from './admin/stage-view.ts'
import { foldgateHere } from './cli/test-command.ts'
import type { StageConstants } from './folding/rollout/stage-constants.ts'

failOnLeaks()

type Rig = Awaited<ReturnType<typeof startFoldingRig>>

const look = async <T>(rig: Rig, path: string): Promise<T> => (await fetch(rig.gateway.adminUrl + path)).json() as T
const post = async (rig: Rig, path: string, body: object) =>
  fetch(rig.gateway.adminUrl + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-foldgate-actor': 'mia' },
    body: JSON.stringify(body),
  })
const metric = async (rig: Rig, name: string): Promise<string | undefined> =>
  new RegExp(`^foldgate_${name} (\\d)$`, 'm').exec(await (await fetch(`${rig.gateway.adminUrl}/metrics`)).text())?.[1]

test('while it is frozen nothing moves forward by hand, a rollback acts, and everybody is told', async () => {
  await using rig = await startFoldingRig()
  const run = (...args: string[]) => foldgateHere([...args, '--admin', rig.gateway.adminUrl])
  await rig.move('postprocess', 'shadow')
  expect(await run('freeze', '--reason', 'release week')).toMatchObject({
    code: 0,
    out: `${rig.gateway.adminUrl} frozen\n`,
  })
  expect((await run('freeze', '--reason', 'again')).out).toBe(`${rig.gateway.adminUrl} frozen already\n`)
  const refused = await rig.move('postprocess', 'canary')
  expect(refused.status).toBe(409)
  expect(await refused.text()).toContain('release week')
  const { switches, state } = await look<StatusView>(rig, '/-/status')
  expect([switches, state]).toEqual([
    { freeze: { actor: expect.any(String), reason: 'release week', at: expect.any(Number) } },
    'ok',
  ])
  expect(await look(rig, '/-/layers')).toMatchObject({ switches })
  expect((await run('status')).out).toMatch(/^frozen +since \S+Z by \S+: release week$/m)
  expect(await metric(rig, 'frozen')).toBe('1')
  expect((await rig.move('postprocess', 'rollback')).status).toBe(200)
  expect((await run('freeze', '--off', '--reason', 'released')).out).toBe(`${rig.gateway.adminUrl} moving\n`)
  expect(await metric(rig, 'frozen')).toBe('0')
  expect((await rig.move('postprocess', 'shadow')).status).toBe(200)
  const { changes } = await look<{ changes: ChangeView[] }>(rig, '/-/history')
  expect(changes.map(({ layer, from, to }) => `${layer} ${from} ${to}`)).toEqual([
    'postprocess gateway shadow',
    '* moving frozen',
    'postprocess shadow rolled-back',
    '* frozen moving',
    'postprocess rolled-back shadow',
  ])
  expect((await run('history')).out).toMatch(/\* +moving +frozen +\S+ +release week$/m)
})

test('a switch is turned on only with a reason, and off without one', async () => {
  await using rig = await startFoldingRig()
  for (const path of ['/-/freeze', '/-/degrade']) {
    for (const body of [{}, { frozen: true }, { stream: false }, { off: false }, { reason: ' ' }])
      expect((await post(rig, path, body)).status).toBe(400)
    const on = await post(rig, path, { reason: 'why' })
    expect(await on.json()).toMatchObject({ on: true, changed: true })
  }
  const off = await post(rig, '/-/freeze', { frozen: false })
  expect(await off.json()).toMatchObject({ name: 'freeze', on: false, changed: true })
  expect(await (await post(rig, '/-/degrade', { stream: true, reason: 'well again' })).json()).toMatchObject({
    name: 'no-stream',
    on: false,
    switches: {},
  })
  const usage = await foldgateHere(['degrade', '--reason', 'x', '--admin', rig.gateway.adminUrl])
  expect(usage).toMatchObject({ code: 2, err: expect.stringContaining('--no-stream') })
})

const pace = (constants: StageConstants): StageConstants => {
  const { p99Ratio: _, ...needs } = constants.needs
  const few = { calls: 10, units: 1, tenants: 1, dwellMs: 0, perStratum: 1, strata: [], triples: 0 }
  return { ...constants, errors: { ...constants.errors, p0: 0.05, p1: 0.5 }, needs: { ...needs, ...few, fallbacks: 1 } }
}

test('while it is frozen the autopilot, which could go on, does not', { timeout: 60_000 }, async () => {
  const easy = (constants: StageConstants): StageConstants => {
    const { needs, ...paced } = pace(constants)
    return { ...paced, needs: { ...needs, differences: 1, overQ95: 1, overQ99: 1, failures: 1 } }
  }
  await using rig = await startFoldingRig({
    stages: { postprocess: 'shadow' },
    config: { folding: { policy: { stages: [10, 100], autopilot: true, tiers: [] } } },
    pace: easy,
  })
  const { stageOf } = rig.gateway.setup().folding
  await post(rig, '/-/freeze', { reason: 'a holiday' })
  const promotable = () =>
    rig.gateway.lines.some(({ msg, decision }) => msg === 'rollout judged' && decision === 'promote')
  let calls = 0
  const call = async () =>
    (
      await rig.chat({ messages: [{ role: 'user', content: `n ${calls++}` }] }, { 'x-conversation-id': `c${calls}` })
    ).text()
  while (!promotable()) await call()
  expect(stageOf('postprocess').stage).toBe('shadow')
  await post(rig, '/-/freeze', { frozen: false })
  while (stageOf('postprocess').stage === 'shadow') await call()
  // What the step is judged by stands beside the stages.
  const { rolloutId } = rig.gateway.stages.stateOf('postprocess')
  const steps = ['shadow', 'S1'].map((step) => `frozen ${rolloutId} ${step}`)
  expect(steps).toContain(Object.keys(rig.gateway.stages.state.known.notes ?? {}).join())
  expect(stageOf('postprocess').stage).toBe('canary')
})

const ask = { stream: true, stream_options: { include_usage: true } }
const promise = { messages: [{ role: 'user', content: 'one two three' }] }

test.each([
  ['in the gateway', {}],
  ['at the runner', allNative],
])('without streams a caller that asks for one still gets a whole one, with every layer %s', async (_, stages) => {
  await using rig = await startFoldingRig({ stages, layers: { cache: undefined } })
  const streamed = await rig.chat({ ...promise, ...ask })
  const before = await streamed.text()
  expect(jsonEvents(before).length).toBeGreaterThan(4)
  expect(streamed.headers.has('x-degraded')).toBe(false)

  const degraded = await foldgateHere(['degrade', '--no-stream', '--reason', 'edge', '--admin', rig.gateway.adminUrl])
  expect(degraded).toMatchObject({ code: 0, out: `${rig.gateway.adminUrl} no streams\n` })
  expect(await metric(rig, 'unstreamed')).toBe('1')
  const { state, problems } = await look<StatusView>(rig, '/-/status')
  expect([state, problems.join()]).toEqual(['degraded', expect.stringContaining('not streamed')])

  const answer = await rig.chat({ ...promise, ...ask })
  expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  expect(answer.headers.get('x-degraded')).toBe('no-stream')
  const where = (response: Response) => layerStates(response)['postprocess']?.replace(';armed', '')
  expect(where(answer)).toBe(where(streamed))
  const text = await answer.text()
  expect(sseEvents(text).at(-1)?.data).toBe('[DONE]')
  expect(streamedText(text)).toBe(streamedText(before))
  const chunks = jsonEvents(text)
  const said = chunks.filter(({ choices }) => choices?.[0]?.delta?.content)
  expect([said.length, chunks.map(({ object }) => object)]).toEqual([1, chunks.map(() => 'chat.completion.chunk')])
  expect(chunks.filter(({ choices }) => choices?.[0]?.finish_reason).length).toBe(1)
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: expect.any(Number) } })
  const bare = jsonEvents(await (await rig.chat({ ...promise, stream: true })).text())
  expect(bare.some(({ usage }) => usage)).toBe(false)

  const plain = await rig.chat(promise)
  expect([plain.headers.get('content-type'), plain.headers.has('x-degraded')]).toEqual(['application/json', false])
  const refused = await rig.chat({ ...promise, stream: true, max_tokens: 'many' })
  expect([refused.status, refused.headers.get('content-type')]).toEqual([400, 'application/json'])
})

test('without streams the other dialects have theirs too', async () => {
  await using rig = await startFoldingRig({ layers: { cache: undefined, prompt: undefined } })
  await post(rig, '/-/degrade', { reason: 'edge' })
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${rig.keys[0]}` }
  const asked = async (path: string, body: object) => {
    const init = {
      method: 'POST',
      headers,
      body: JSON.stringify({ model: 'echo', stream: true, max_tokens: 20, ...body }),
    }
    return sseEvents(await (await fetch(rig.gateway.url + path, init)).text())
  }
  const messages = await asked('/v1/messages', promise)
  expect(messages.map(({ type }) => type).filter((type) => type !== 'content_block_delta')).toEqual([
    'message_start',
    'ping',
    'content_block_start',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ])
  const texts = await asked('/v1/completions', { prompt: 'one two three' })
  expect(texts.at(-1)?.data).toBe('[DONE]')
  const pieces = texts.slice(0, -1).map(({ data }) => JSON.parse(data))
  expect(pieces.map(({ choices }) => choices[0]?.text ?? '').join('')).toContain('one two three')
  expect(pieces.some(({ choices }) => choices[0]?.finish_reason)).toBe(true)
})
