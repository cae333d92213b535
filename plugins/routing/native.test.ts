import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createTestHost, type TestHostOverrides } from '../../test/support/host.ts'
import { createCall } from '../call.ts'
import { maxReadsBytes } from '../execution-context-facts.ts'
import type { Seat } from '../host.ts'
import type { Acting, Probe } from '../layer.ts'
import { replyFromCompletion, type Target } from '../reply.ts'
import type { Verdict } from '../verdict.ts'
import { createRouting } from './act.ts'
import { routing } from './index.ts'
import { native } from './native.ts'
import type { RoutingStep } from './step.ts'
import { tighten } from './tighten.ts'

const seatOf = (overrides: TestHostOverrides = {}): Seat =>
  Object.assign(createTestHost({ side: 'runner', ...overrides }), { allows: () => true, has: () => true })
const stepOf = (config: object): RoutingStep => {
  const parsed = routing.config.parse(config)
  return routing.fold?.(parsed, createTestHost() as never) as RoutingStep
}
const two = [
  { runner: 'r', model: 'm0', aliases: ['chat'] },
  { runner: 'r', model: 'm1', aliases: ['chat'], weight: 2, min_tokens: 30 },
]

let calls = 0
function callOf(body: object, more: Partial<Probe> = {}) {
  const { headers = {}, now = 1_900_000_000_000 } = more
  const principal = {
    id: 'u',
    tenant: 't',
    tier: '',
    scopes: [],
    claims: {},
    method: 'jwt' as const,
    ...more.principal,
  }
  const { signal } = new AbortController()
  const bytes = Buffer.from(JSON.stringify(body))
  return createCall({ id: `n-${calls++}`, route: 'chat', now, body: bytes, headers, facts: { principal }, signal })
}
const chat = (content = 'hello there', more: object = {}) =>
  callOf({ model: 'chat', messages: [{ role: 'user', content }], max_tokens: 98, ...more })

/** One call, answered with so many tokens by the target it was sent to. */
async function play(acting: Acting, call = chat(), total = 100): Promise<Verdict> {
  const verdict = (await acting.decide?.(call, 'enforce')) as Verdict
  const target = verdict.kind === 'pass' ? (verdict.facts.target?.[0] as Target) : undefined
  if (target) {
    const init = { status: 200, streamed: false, source: 'runner', target } as const
    const reply = replyFromCompletion(init, { usage: { total_tokens: total } })
    const settled = await acting.settle?.(call, reply, { mode: 'enforce', again: async () => reply })
    for await (const _ of settled?.bytes() ?? []);
  }
  acting.release?.(call)
  return verdict
}
const firstOf = (verdict: Verdict) => (native.essence as (verdict: Verdict) => unknown)(verdict)

describe('the step', () => {
  test('is the settings and the conversation header: the same each time, and itself after JSON and its own schema', () => {
    const step = stepOf({ targets: two, affinity: { enabled: false } })
    expect(stepOf({ targets: two, affinity: { enabled: false } })).toEqual(step)
    expect(native.step.parse(JSON.parse(JSON.stringify(step)))).toEqual(step)
    expect(step).toMatchObject({ conversationHeader: 'x-conversation-id', targets: [{ model: 'm0' }, { weight: 2 }] })
    expect(native.step.faults({ ...step, more: 1 })).toMatchObject([{ path: 'more' }])
    const { default: _, ...without } = step
    expect(native.step.faults(without)).toMatchObject([{ path: 'default' }])
  })
  test('names the conversation header among those it reads, unless conversations do not count', () => {
    expect(native.headers?.(stepOf({ targets: two }))).toEqual(['x-conversation-id'])
    expect(native.headers?.(stepOf({ targets: two, affinity: { enabled: false } }))).toEqual([])
  })
  test('targets on two runners stay in the gateway, and both are named', () => {
    const config = (runner: string) => routing.config.parse({ targets: [two[0], { runner, model: 'x' }] })
    expect(routing.stays?.(config('r'))).toBeUndefined()
    expect(routing.stays?.(config('other'))).toContain('on the runners "r" and "other"')
  })
  test('a model that the runner does not serve is refused, with its place and what would do', () => {
    expect(native.inspect?.(stepOf({ targets: two }), seatOf({ models: ['m0', 'm1'] }))).toEqual({ status: 'compiled' })
    expect(native.inspect?.(stepOf({ targets: two }), seatOf({ models: ['m0', 'm2'] }))).toEqual({
      status: 'refused',
      code: 'UNRESOLVED_REF',
      path: 'targets[1].model',
      value: 'm1',
      try: 'name one of: m0, m2',
    })
  })
})

describe('the two halves', () => {
  test.each(native.probes.map((probe) => [probe.title, probe] as const))('agree: %s', async (_, probe) => {
    const { step, reads, expect: wanted } = probe
    const verdicts = [createTestHost(), seatOf()].map((host) => {
      const call = callOf(probe.body as object, probe)
      return createRouting(step, host).decide?.(call, 'observe', reads) as Verdict
    })
    for (const verdict of verdicts) {
      expect(verdict.kind).toBe(wanted.o)
      if (verdict.kind === 'refuse') expect(verdict.error.code).toBe(wanted.code)
    }
    expect(firstOf(verdicts[0] as Verdict)).toEqual(firstOf(verdicts[1] as Verdict))
    expect(native.step.faults(step)).toEqual([])
  })
  test('the probes with reads decide what an empty ledger would decide otherwise', () => {
    const withReads = native.probes.filter(({ reads, title }) => reads && !title.includes('not available'))
    expect(withReads).toHaveLength(2)
    for (const probe of withReads) {
      const decide = (reads: Probe['reads']) =>
        firstOf(
          createRouting(probe.step, seatOf()).decide?.(
            callOf(probe.body as object, probe),
            'observe',
            reads,
          ) as Verdict,
        )
      expect(decide(probe.reads)).not.toEqual(decide(undefined))
    }
  })
  test('have one rule for a cache further out, whichever side and whether opened or acted', async () => {
    const runners = {
      names: ['r'],
      state: () => ({ available: true, retryAfterMs: 0, outstandingTokens: 0 }),
      ask: async () => '',
    }
    const opened = await routing.open(routing.config.parse({ targets: two }), createTestHost({ runners }))
    const acted = createRouting(JSON.parse(JSON.stringify(stepOf({ targets: two }))), seatOf())
    expect(acted.ruleFor?.(chat())).toEqual(opened.ruleFor?.(chat()))
  })
})

describe('what a decision rested on', () => {
  const sides = fc.record({
    before: fc.array(fc.tuple(fc.integer({ min: 1, max: 5000 }), fc.boolean()), { maxLength: 12 }),
    other: fc.array(fc.integer({ min: 1, max: 5000 }), { maxLength: 6 }),
    busy: fc.array(fc.integer({ min: -1, max: 50 }), { minLength: 2, maxLength: 2 }),
    words: fc.integer({ min: 1, max: 60 }),
    weights: fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 3 })),
  })
  test('lets an observer with another history say exactly the same, of passes and of refusals', async () => {
    await fc.assert(
      fc.asyncProperty(sides, async ({ before, other, busy, words, weights }) => {
        const targets = two.map((each, index) => ({
          ...each,
          runner: `r${index}`,
          weight: weights[index],
          max_input_length: 50,
        }))
        const step = { ...stepOf({ targets }) }
        const state = (name: string) => {
          const tokens = busy[Number(name.slice(1))] ?? 0
          return { available: tokens >= 0, retryAfterMs: 10, outstandingTokens: Math.max(0, tokens) }
        }
        const gateway = createRouting(
          step,
          createTestHost({ runners: { names: ['r0', 'r1'], state, ask: async () => '' } }),
        )
        const runner = createRouting(step, seatOf())
        const headers = { 'x-conversation-id': 'c' }
        const asked = (named: boolean, content: string) =>
          callOf({ model: 'chat', messages: [{ role: 'user', content }], max_tokens: 40 }, named ? { headers } : {})
        for (const [total, named] of before) await play(gateway, asked(named, 'hi'), total)
        for (const total of other) await play(runner, asked(true, 'hi'), total)
        const call = asked(true, 'word '.repeat(words))
        const said = gateway.decide?.(call, 'enforce') as Verdict
        const reads = gateway.reads?.(call)
        gateway.release?.(call)
        expect(reads).toBeDefined()
        const heard = runner.decide?.(call, 'observe', JSON.parse(JSON.stringify(reads))) as Verdict
        expect(firstOf(heard)).toEqual(firstOf(said))
      }),
      { seed: 11, numRuns: 200 },
    )
  })
  test('is left out where it would not fit, and where there is nothing to choose from', () => {
    const readsOf = (count: number, model = 'chat') => {
      const targets = Array.from({ length: count }, (_, index) => ({
        runner: 'r',
        model: `m${index}`,
        weight: 1 / 3,
        aliases: ['chat'],
      }))
      const acting = createRouting(stepOf({ targets }), seatOf())
      const call = chat('hi', { model })
      acting.decide?.(call, 'enforce')
      return acting.reads?.(call)
    }
    expect(JSON.stringify({ routing: readsOf(4) }).length).toBeLessThanOrEqual(maxReadsBytes)
    expect(readsOf(33)).toBeUndefined()
    expect(readsOf(2, 'unknown')).toBeUndefined()
  })
  test.each([
    {},
    { input: 1, budget: 2, owed: [1], fleet: [0, 0], busy: [0, 0] },
    { input: 1, budget: 2, owed: ['1', '2'], fleet: [0, 0], busy: [0, 0] },
    { input: '1', budget: 2, owed: [0, 0], fleet: [0, 0], busy: [0, 0] },
  ])('that does not fit the rule is passed over: %j', (reads) => {
    const acting = createRouting(stepOf({ targets: two }), seatOf())
    expect(firstOf(acting.decide?.(chat(), 'observe', reads as never) as Verdict)).toEqual({ target: ['r', 'm1'] })
  })
  test('an observer that is given it applies the call to its own counters', async () => {
    const equal = stepOf({ targets: two.map((each) => ({ ...each, weight: 1, min_tokens: 0 })) })
    const acting = createRouting(equal, seatOf())
    const reads = { input: 2, budget: 100, owed: [-500, 500], fleet: [0, 0], busy: [0, 0] }
    const call = chat()
    expect(firstOf(acting.decide?.(call, 'observe', reads) as Verdict)).toEqual({ target: ['r', 'm1'] })
    expect(firstOf(await play(acting))).toEqual({ target: ['r', 'm0'] })
    acting.release?.(call)
  })
})

test('calls under a tightened rule count where the others do; other sides and other configurations do not', async () => {
  const step = stepOf({ targets: two.map((each) => ({ ...each, weight: 1, min_tokens: 0 })) })
  const host = createTestHost()
  const base = createRouting(step, host)
  const tightened = createRouting(tighten(step, { routing: { chat: { max_input_length: 500 } } }), host)
  expect(firstOf(await play(tightened, chat(), 5000))).toEqual({ target: ['r', 'm0'] })
  expect(firstOf(await play(base))).toEqual({ target: ['r', 'm1'] })
  for (const other of [createTestHost(), Object.assign({}, host, { side: 'copy' })])
    expect(firstOf(await play(createRouting(step, other)))).toEqual({ target: ['r', 'm0'] })
})
