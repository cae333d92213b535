import { describe, expect, it } from 'vitest'
import { contextFromTraceparent } from '../../proxy/telemetry/trace-context.ts'
import { post } from '../support/ask.ts'
import { chat, fault, streamed } from '../support/chat-replies.ts'
import { startTestGateway } from '../support/gateway.ts'
import { json, rawReply } from '../support/reply.ts'
import { type Script, startUpstream } from '../support/upstream.ts'
import { type Fault, startFaultyRunner } from './faulty-runner.ts'
import { allNative, startFoldingRig } from './folding-rig.ts'
import { stagesWith, viewOf } from './shadow-rig.ts'
import { startSpanCollector, type Trace, tracesFrom } from './span-collector.ts'

const asked = { model: 'm', messages: [{ role: 'user', content: 'hello' }] }
const parent = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' }
const traceparent = `00-${parent.traceId}-${parent.spanId}-01`
const names = (spans: readonly { readonly name: string }[]) => spans.map(({ name }) => name)

/** What one runner was asked: the context of each request's trace, with a context of ours or not. */
function recordingRunner() {
  const asked: { readonly spanId: string; readonly traceId: string; readonly folded: boolean }[] = []
  const hear: Fault = ({ path, headers }) => {
    const context = contextFromTraceparent(headers['traceparent'] as string | undefined)
    if (path === '/v1/chat/completions' && context)
      asked.push({ ...context, folded: headers['x-execution-context'] !== undefined })
    return undefined
  }
  return { asked, hear }
}

/** Asks a gateway in front of these runners, and gives back the traces and what runners were told of them. */
async function tracesOf(scripts: readonly Script[], body: object = asked) {
  await using collector = await startSpanCollector()
  const stack = new AsyncDisposableStack()
  const runners = await Promise.all(scripts.map(async (script) => stack.use(await startUpstream(script))))
  await using gateway = await startTestGateway({
    runners: runners.map(({ url }) => ({ url, maxAttempts: 2, retryBudgetRatio: 1 })),
    layers: { auth: { anonymous: true } },
    config: { telemetry: { otlpEndpoint: collector.url, sampleRatio: 1 } },
  })
  const answers = [await post(`${gateway.url}/v1/chat/completions`, body, { traceparent })]
  await gateway.close()
  const told = runners.map(({ requests }) =>
    requests.map(({ headers }) => contextFromTraceparent(headers['traceparent'])?.spanId),
  )
  await stack.disposeAsync()
  return { traces: tracesFrom(collector.spans()), told, answers }
}

describe('the trace of a call', () => {
  it('stands under its caller’s span and goes on at the runner, whose try it names', async () => {
    const { traces, told, answers } = await tracesOf([streamed(['a', 'b'])], { ...asked, stream: true })
    expect(traces).toHaveLength(1)
    const { root, children } = traces[0]!
    expect(root).toMatchObject({
      ...{ name: 'POST /v1/chat/completions', kind: 2, status: 0 },
      traceId: parent.traceId,
    })
    expect(root.parentSpanId).toBe(parent.spanId)
    expect(names(children)).toEqual(['auth request', 'chat'])
    for (const child of children) expect(child.parentSpanId).toBe(root.spanId)
    expect(told).toEqual([[children[1]!.spanId]])
    expect(root.attributes).toMatchObject({
      ...{ 'foldgate.call.id': answers[0]!.headers['x-request-id'], 'foldgate.arm': 'gateway' },
      ...{ 'foldgate.layer.auth.status': 'active', 'foldgate.layer.auth.by': 'gateway' },
    })
    expect(root.attributes['foldgate.execution_time_us']).toBeGreaterThan(0)
    expect(children[1]!.attributes).toMatchObject({ 'foldgate.attempt': 1, 'gen_ai.request.stream': true })
    expect(children[1]!.attributes['gen_ai.response.time_to_first_chunk']).toBeGreaterThan(0)
  })

  it.each<[string, readonly Script[], readonly (readonly [string, number, unknown])[]]>([
    [
      'whose runner fails',
      [fault(503, 'busy'), chat('hi')],
      [
        ['a', 1, 'no_capacity'],
        ['b', 2, undefined],
      ],
    ],
    [
      'whose runner breaks off',
      [rawReply().reset(), chat('hi')],
      [
        ['a', 1, 'runner_error'],
        ['b', 2, undefined],
      ],
    ],
  ])('%s has a span for each try, numbered, and what it failed of', async (_, scripts, tries) => {
    const { traces, told, answers } = await tracesOf(scripts)
    expect(answers[0]!.status).toBe(200)
    const { children } = traces[0]!
    const clients = children.filter(({ kind }) => kind === 3)
    const said = clients.map(({ attributes: of }) => [of['foldgate.runner'], of['foldgate.attempt'], of['error.type']])
    expect(said).toEqual(tries)
    expect(told.flat()).toEqual(clients.map(({ spanId }) => spanId))
  })

  it('tells a request that repeats what a stale connection lost from the first', async () => {
    await using collector = await startSpanCollector()
    await using upstream = await startUpstream([chat('hi'), rawReply().reset(), chat('hi')])
    await using gateway = await startTestGateway({
      runners: [upstream.url],
      config: { telemetry: { otlpEndpoint: collector.url, sampleRatio: 1 } },
    })
    for (let call = 0; call < 2; call++) await post(`${gateway.url}/v1/chat/completions`, asked)
    await gateway.close()
    const [, second] = tracesFrom(collector.spans())
    const tries = second!.children.filter(({ kind }) => kind === 3)
    expect(tries.map(({ attributes: of, status }) => [of['foldgate.attempt'], of['error.type'], status])).toEqual([
      [1, 'runner_error', 2],
      [2, undefined, 0],
    ])
    const told = upstream.requests.slice(1).map(({ headers }) => contextFromTraceparent(headers['traceparent']))
    expect(told).toMatchObject(tries.map(({ spanId, traceId }) => ({ spanId, traceId })))
  })

  it('of a call that falls back has both tries, and why', async () => {
    await using collector = await startSpanCollector()
    await using faulty = await startFaultyRunner('http://127.0.0.1:9')
    await using rig = await startFoldingRig({
      stages: allNative,
      front: (url) => faulty.leading(url),
      config: { telemetry: { otlpEndpoint: collector.url, sampleRatio: 1 } },
    })
    const { asked: told, hear } = recordingRunner()
    faulty.plant((request) => {
      hear(request)
      return request.headers['x-execution-context']
        ? { status: 500, body: '{"error":{"message":"broken"}}' }
        : undefined
    })
    expect((await rig.chat({}, { traceparent })).status).toBe(200)
    await rig.gateway.close()
    const { root, children } = tracesFrom(collector.spans()).find(({ root }) => root.traceId === parent.traceId)!
    expect(root.attributes).toMatchObject({
      'foldgate.fallback.reason': 'runner-error',
      'http.response.status_code': 200,
    })
    const tries = children.filter(({ kind }) => kind === 3)
    expect(tries.map(({ attributes: of, status }) => [of['foldgate.attempt'], status])).toEqual([
      [1, 2],
      [2, 0],
    ])
    expect(told).toMatchObject(tries.map(({ spanId }, at) => ({ spanId, folded: at === 0 })))
  })
})

describe('the trace of a call that a runner decides', () => {
  it('goes on at the engine behind it, under the try', async () => {
    await using collector = await startSpanCollector()
    await using engine = await startUpstream((request) =>
      request.path === '/v1/models' ? json({ data: [{ id: 'echo', created: 5 }] }) : streamed(['hi']),
    )
    await using rig = await startFoldingRig({
      stages: allNative,
      echo: { engine: 'openai', upstream: engine.url },
      config: { telemetry: { otlpEndpoint: collector.url, sampleRatio: 0 } },
    })
    expect((await rig.chat({}, { traceparent })).status).toBe(200)
    await rig.gateway.close()
    const { root, children } = tracesFrom(collector.spans()).find(({ root }) => root.traceId === parent.traceId)!
    expect(root.attributes).toMatchObject({ 'foldgate.layer.prompt.by': 'runner', 'foldgate.arm': 'native' })
    const told = engine.requests.filter(({ path }) => path === '/v1/chat/completions').map(({ headers }) => headers)
    const tries = children.filter(({ kind }) => kind === 3)
    expect(told).toMatchObject(tries.map(({ spanId }) => ({ traceparent: `00-${parent.traceId}-${spanId}-01` })))
  })
})

describe('the trace of a call that somebody else answers', () => {
  it.each([
    ['a path that is passed on', '/v1/files', {}, 'a'],
    ['the chain that still serves', '/v1/chat/completions', { legacy: true }, 'legacy'],
  ] as const)('goes on there: %s', async (_, path, { legacy }: { legacy?: true }, runner) => {
    await using collector = await startSpanCollector()
    await using upstream = await startUpstream(chat('hi'))
    await using gateway = await startTestGateway({
      runners: [upstream.url],
      config: {
        telemetry: { otlpEndpoint: collector.url, sampleRatio: 0 },
        folding: legacy ? { shadow: { legacy: { url: upstream.url } } } : {},
      },
    })
    const { status } = await post(`${gateway.url}${path}`, asked, { traceparent, tracestate: 'rojo=1' })
    await post(`${gateway.url}${path}`, asked, { traceparent: traceparent.replace(/1$/, '0') })
    expect(status).toBe(200)
    await gateway.close()
    const [{ root, children }, ...more] = tracesFrom(collector.spans()) as [Trace, ...Trace[]]
    const tries = children.filter(({ kind }) => kind === 3)
    expect([root.parentSpanId, more.length, tries.length]).toEqual([parent.spanId, 0, 1])
    expect(tries[0]).toMatchObject({ name: 'POST', status: 0, parentSpanId: root.spanId })
    expect(tries[0]!.attributes).toMatchObject({ 'foldgate.runner': runner, 'http.response.status_code': 200 })
    const [recorded, silent] = upstream.requests.map(({ headers }) => headers)
    expect(recorded).toMatchObject({ tracestate: 'rojo=1', traceparent: expect.stringContaining(tries[0]!.spanId) })
    expect(contextFromTraceparent(silent!['traceparent'])).toMatchObject({ traceId: parent.traceId, flags: 0 })
  })
})

describe('what is asked beside a call', () => {
  it('has traces of its own, linked to the call’s and marked as nobody’s', async () => {
    await using collector = await startSpanCollector()
    await using faulty = await startFaultyRunner('http://127.0.0.1:9')
    await using rig = await startFoldingRig({
      stages: stagesWith('prompt', 'shadow'),
      front: (url) => faulty.leading(url),
      config: {
        telemetry: { otlpEndpoint: collector.url, sampleRatio: 0 },
        folding: { shadow: { endToEndSample: 1 } },
      },
    })
    const { asked: told, hear } = recordingRunner()
    faulty.plant(hear)
    await (await rig.chat({ stream: true }, { traceparent })).text()
    await (await rig.chat({ temperature: 0.5 })).text()
    await viewOf(rig)
    await rig.gateway.close()
    const [live, ...copies] = tracesFrom(collector.spans()).filter(({ root }) => root.kind !== 1)
    // The second call is not sampled, and nor are its copies.
    expect(copies).toHaveLength(2)
    expect(live!.root).toMatchObject({ kind: 2, traceId: parent.traceId, links: [] })
    for (const { root, children } of copies) {
      expect(root).toMatchObject({ name: 'shadow chat echo', kind: 3, parentSpanId: '', status: 0 })
      expect(children).toEqual([])
      const { traceId, spanId } = live!.root
      expect(root.links).toEqual([{ traceId, spanId, attributes: { 'foldgate.link': 'shadow_of' } }])
      expect(root.attributes).toMatchObject({
        ...{ 'user_agent.synthetic.type': 'test', 'foldgate.arm': 'shadow', 'foldgate.moving': 'prompt' },
        ...{ 'http.response.status_code': 200, 'gen_ai.request.stream': true, 'foldgate.runner': 'a' },
      })
      expect(Object.keys(root.attributes).filter((name) => /rollout|stage|\.status$/.test(name))).toEqual([])
    }
    expect(copies.map(({ root }) => root.attributes['foldgate.copy']).toSorted()).toEqual(['new', 'old'])
    const ids = new Set(told.map(({ spanId }) => spanId))
    expect(told).toHaveLength(6)
    for (const { root } of copies) expect(ids).toContain(root.spanId)
    expect(told.filter(({ traceId }) => traceId === parent.traceId)).toHaveLength(1)
  })

  it('a move of a layer is a trace of one span, and names nobody', async () => {
    await using collector = await startSpanCollector()
    await using rig = await startFoldingRig({
      config: { telemetry: { otlpEndpoint: collector.url, sampleRatio: 0 } },
    })
    await rig.move('postprocess', 'shadow')
    await rig.move('postprocess', 'rollback')
    await rig.gateway.close()
    const moves = tracesFrom(collector.spans()).map(({ root }) => root)
    expect(
      moves.map(({ name, kind, attributes: of }) => [name, kind, of['foldgate.moved.from'], of['foldgate.moved.to']]),
    ).toEqual([
      ['move postprocess', 1, 'gateway', 'shadow'],
      ['rollback postprocess', 1, 'shadow', 'rolled-back'],
    ])
    expect(moves[1]!.attributes).toMatchObject({ 'foldgate.layer': 'postprocess', 'foldgate.moved.by': 'operator' })
    expect(JSON.stringify(moves.map(({ attributes }) => attributes))).not.toContain('a test')
  })
})
