import { describe, expect, test } from 'vitest'
import { createTestHost, type TestHostOverrides } from '../../test/support/host.ts'
import { type Call, createCall, type Principal } from '../call.ts'
import type { Seat } from '../host.ts'
import type { Acting, Probe } from '../layer.ts'
import type { Verdict } from '../verdict.ts'
import type { CacheConfig } from './config.ts'
import { fold, stays } from './fold.ts'
import { actCache } from './gateway.ts'
import { cache } from './index.ts'
import { native } from './native.ts'
import type { CacheStep } from './step.ts'
import { chat, completion, createRig, jsonReply, read } from './test-rig.ts'
import { tighten } from './tighten.ts'

const seatOf = (overrides: TestHostOverrides = {}, allows = true): Seat =>
  Object.assign(createTestHost({ side: 'runner', ...overrides }), { allows: () => allows, has: () => true })
const stepOf = (config: Partial<CacheConfig> = {}, overrides: TestHostOverrides = {}): CacheStep =>
  fold(cache.config.parse(config), createTestHost(overrides))
const essenceOf = (verdict: Verdict): unknown => (native.essence as (verdict: Verdict) => unknown)(verdict)

let calls = 0
function callOf(body: unknown, more: { headers?: object; principal?: Partial<Principal>; now?: number } = {}): Call {
  const principal = { id: 'probe', tenant: 'probe', tier: '', scopes: [], claims: {}, method: 'jwt', ...more.principal }
  return createCall({
    id: `n-${calls++}`,
    route: 'chat',
    now: more.now ?? 1_900_000_000_000,
    body: Buffer.from(JSON.stringify(body)),
    headers: { ...more.headers },
    facts: { client_ip: '192.0.2.1', principal } as Call['facts'],
    signal: new AbortController().signal,
  })
}

/** The verdict on a call that is answered, when it gets so far. */
async function verdictOf(acting: Acting, call: Call): Promise<Verdict> {
  const verdict = (await acting.decide?.(call, 'enforce')) as Verdict
  if (verdict.kind === 'pass') {
    const reply = await acting.settle?.(call, jsonReply(completion()), {
      mode: 'enforce',
      again: async () => jsonReply({}),
    })
    if (reply) await read(reply)
  }
  acting.release?.(call)
  return verdict
}

describe('the step', () => {
  const files = { 'faq.jsonl': `${JSON.stringify({ request: chat('a'), response: 'to a' })}\n` }
  const config: Partial<CacheConfig> = {
    importFile: 'faq.jsonl',
    pinned: [{ request: chat('b') as never, response: 'to b' }],
    input_hash_fields: ['messages[-1].content', 'tenant'],
  }
  test('is the settings with the curated answers read in: the same each time, and itself after JSON and its own schema', () => {
    const overrides = { files, declared: new Set(['user_id', 'plan']), conversationHeader: 'x-acme-conversation-id' }
    const step = stepOf(config, overrides)
    expect(stepOf(config, overrides)).toEqual(step)
    expect(native.step.parse(JSON.parse(JSON.stringify(step)))).toEqual(step)
    expect(step).toMatchObject({
      pins: [{ response: 'to b' }, { response: 'to a' }],
      declared: ['plan', 'user_id'],
      headerPrefix: 'x-acme-',
    })
    expect(Object.keys(step)).not.toEqual(expect.arrayContaining(['importFile']))
    expect(native.step.faults({ ...step, importFile: 'x' })).toMatchObject([{ path: 'importFile' }])
  })
  test('a line that is wrong is a fault with its number', () => {
    expect(() => stepOf({ importFile: 'f' }, { files: { f: '\nnot json' } })).toThrow('importFile line 2: is not JSON')
  })
  test('answers with the curated answers of the file on the other side too', async () => {
    const acting = actCache(JSON.parse(JSON.stringify(stepOf({ importFile: 'faq.jsonl' }, { files }))), seatOf())
    const verdict = await acting.decide?.(callOf(chat('a')), 'enforce')
    expect(verdict?.kind).toBe('answer')
  })
  test('names the headers that callers may speak through, and no claims but those that its fields name', () => {
    expect(native.headers?.(stepOf({}, { conversationHeader: 'x-acme-conversation-id' }))).toEqual([
      'cache-control',
      'x-acme-cache-hint',
    ])
    expect(native.headers?.(stepOf({ clientHints: false }))).toEqual([])
    const fields = [
      'plan',
      'facts.level',
      'facts.claims.zone',
      'tenant',
      'scopes',
      'messages',
      'client_ip',
      'plan.name',
    ]
    expect(native.claims?.(stepOf({ input_hash_fields: fields }))).toEqual(['level', 'plan', 'zone'])
    expect(native.claims?.(stepOf())).toEqual([])
  })
  test.each([
    [null, undefined],
    [['messages', 'tenant', 'facts.claims.plan'], undefined],
    [['facts.peer'], 'known in the gateway only'],
    [[{ path: 'facts.claims' }], 'only single ones travel'],
  ])('%j stays in the gateway: %s', (input_hash_fields, why) => {
    const said = stays({ input_hash_fields })
    if (why) expect(said).toContain(why)
    else expect(said).toBeUndefined()
  })
})

describe('what a runner can hold to', () => {
  const scored = (scorer: object) =>
    stepOf({ output_validation: { quality_score: { min: 0.5, scorer: scorer as never } } })
  const url = scored({ url: 'https://scorer.example/v1' })
  test('a rule without outside help, and a scorer that it may reach', () => {
    expect(native.inspect?.(stepOf(), seatOf({}, false))).toEqual({ status: 'compiled' })
    expect(native.inspect?.(url, seatOf())).toEqual({ status: 'compiled' })
  })
  test('a scorer that it may not reach or does not know is refused with its place and what would do', () => {
    expect(native.inspect?.(url, seatOf({}, false))).toMatchObject({
      status: 'refused',
      code: 'EGRESS_DENIED',
      path: 'output_validation.quality_score.scorer.url',
      value: 'scorer.example',
      try: expect.stringContaining('--egress'),
    })
    const judged = scored({ runner: 'elsewhere', model: 'm' })
    expect(native.inspect?.(judged, seatOf())).toMatchObject({
      status: 'refused',
      code: 'UNRESOLVED_REF',
      value: 'elsewhere',
    })
    expect(() => native.act(judged, seatOf())).toThrow('scorer.runner: is not one of the runners')
  })
  test('curated answers beyond 512 KiB are refused, and said to be so', () => {
    const pinned = [{ request: chat('a') as never, response: 'x'.repeat(525_000) }]
    expect(native.inspect?.(stepOf({ pinned }), seatOf())).toMatchObject({
      status: 'refused',
      code: 'UNRESOLVED_REF',
      path: 'pins',
      limit: 524_288,
      value: expect.any(Number),
    })
  })
})

describe('the two halves', () => {
  const inside = { insideDigest: () => 'rules', promptVersion: () => 'v1' }
  const halves = (step: CacheStep): Acting[] => [
    actCache(step, createTestHost(inside)),
    actCache(JSON.parse(JSON.stringify(step)), seatOf({ ...inside, secret: () => Buffer.alloc(32, 7) })),
  ]
  const decided = async (probe: Probe<CacheStep>): Promise<Verdict[]> =>
    Promise.all(
      halves(probe.step).map(async (half) => (await half.decide?.(callOf(probe.body, probe), 'observe')) as Verdict),
    )

  test.each(native.probes.map((probe) => [probe.title, probe] as const))('agree: %s', async (_, probe) => {
    const [gateway, runner] = (await decided(probe)) as [Verdict, Verdict]
    expect([gateway.kind, runner.kind]).toEqual([probe.expect.o, probe.expect.o])
    expect(essenceOf(gateway)).toEqual(essenceOf(runner))
    expect(essenceOf(gateway)).toEqual({
      [/no key|absent|of 0/.test(probe.title) ? 'reason' : 'digest']: expect.any(String),
    })
    expect(native.step.faults(probe.step)).toEqual([])
  })

  test('have one essence for a miss, a hit, a curated answer, a refusal and an observed call, and another for other keys', async () => {
    const step = stepOf({ pinned: [{ request: chat('pinned') as never, response: 'x' }] })
    const [gateway, runner] = halves(step) as [Acting, Acting]
    const miss = await verdictOf(gateway, callOf(chat('hi')))
    const hit = await verdictOf(gateway, callOf(chat('hi')))
    const only = await verdictOf(runner, callOf(chat('hi'), { headers: { 'cache-control': 'only-if-cached' } }))
    const observed = (await runner.decide?.(callOf(chat('hi')), 'observe')) as Verdict
    expect([miss.kind, hit.kind, only.kind, observed.kind]).toEqual(['pass', 'answer', 'refuse', 'pass'])
    for (const verdict of [hit, only, observed]) expect(essenceOf(verdict)).toEqual(essenceOf(miss))
    expect(essenceOf(miss)).toEqual({ digest: expect.stringMatching(/^[0-9a-f]{64}$/) })
    const pinned = await verdictOf(gateway, callOf(chat('pinned')))
    expect(pinned.kind).toBe('answer')
    expect(essenceOf(pinned)).toEqual(essenceOf((await runner.decide?.(callOf(chat('pinned')), 'observe')) as Verdict))
    expect(essenceOf(pinned)).not.toEqual(essenceOf(miss))
  })

  test('a caller’s directives are no part of the question, whatever they are called', async () => {
    const overrides = { conversationHeader: 'x-acme-conversation-id' }
    for (const input_hash_fields of [null, ['messages[-1].content']]) {
      const acting = actCache(stepOf({ input_hash_fields }, overrides), seatOf())
      const keys = [
        {},
        { execution_context: { cache: {} } },
        { 'x-execution-context': 1 },
        { 'x-acme-execution-context': {} },
      ]
      const said = await Promise.all(keys.map(async (more) => acting.decide?.(callOf(chat('hi', more)), 'observe')))
      expect(new Set(said.map((verdict) => JSON.stringify(essenceOf(verdict as Verdict)))).size).toBe(1)
    }
  })
})

test('a tightened rule answers from what the others keep, where its key is theirs; a purge reaches it', async () => {
  const rig = createRig()
  const asked = (content: string): Call => callOf(chat(content), { now: rig.host.clock.now() })
  const step = fold(cache.config.parse({}), rig.host)
  const short = actCache(tighten(step, { cache: { ttl_seconds: 10 } }), rig.host)
  expect((await verdictOf(short, asked('hi'))).kind).toBe('pass')
  expect((await rig.ask(chat('hi'), { tenant: 'probe' })).source).toBe('cache')
  await rig.ask(chat('old'), { tenant: 'probe' })
  rig.host.clock.advance(10_000)
  expect((await verdictOf(short, asked('old'))).kind).toBe('pass')
  await rig.acting.purge({})
  rig.host.clock.advance(1)
  expect((await verdictOf(short, asked('old'))).kind).toBe('pass')
  expect((await verdictOf(short, asked('old'))).kind).toBe('answer')
})
