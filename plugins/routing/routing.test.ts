import { describe, expect, test } from 'vitest'
import { createTestHost } from '../../test/support/host.ts'
import { createCall } from '../call.ts'
import type { Side } from '../host.ts'
import type { Acting, Mode } from '../layer.ts'
import { type Reply, replyFromBytes, replyFromCompletion, type Target } from '../reply.ts'
import { through } from '../stack.ts'
import type { Pass } from '../verdict.ts'
import { routing } from './index.ts'

const big = { runner: 'a', model: 'big', weight: 1, aliases: ['chat'] }
const small = { runner: 'b', model: 'small', weight: 1, aliases: ['chat'] }

type RunnerChange = Partial<{ available: boolean; retryAfterMs: number; outstandingTokens: number }>

async function open(
  targets: object[],
  more: object = {},
  down: Record<string, RunnerChange> = {},
  side: Side = 'gateway',
): Promise<Acting> {
  const runners = {
    names: ['a', 'b'],
    state: (name: string) => ({ available: true, retryAfterMs: 0, outstandingTokens: 0, ...down[name] }),
    ask: async () => '',
  }
  return routing.open(routing.config.parse({ targets, ...more }), createTestHost({ runners, side }))
}

/** What an observer is given beside a call has ended. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

let calls = 0
function ask(
  body: object = {},
  more: { headers?: Record<string, string>; tenant?: string; signal?: AbortSignal } = {},
) {
  const { headers = {}, tenant = 't1', signal = new AbortController().signal } = more
  const request = { model: 'chat', messages: [{ role: 'user', content: 'hello there' }], max_tokens: 98, ...body }
  const principal = { id: 'u', tenant, tier: 'free', scopes: [], claims: {}, method: 'jwt' as const }
  const facts = { client_ip: '127.0.0.1', principal }
  const bytes = Buffer.from(JSON.stringify(request))
  return createCall({ id: `call-${calls++}`, route: 'chat', now: 1_000_000, body: bytes, headers, facts, signal })
}

function answered(total: number, target: Target, streamed = false): Reply {
  const choices = [{ index: 0, message: { role: 'assistant', content: 'one two' }, finish_reason: 'stop' }]
  const usage = total < 0 ? null : { total_tokens: total }
  return replyFromCompletion({ status: 200, streamed, source: 'runner', target }, { choices, usage })
}

/** Runs a call over routing alone; answers with what the first target was and how the reply read. */
async function run(
  acting: Acting,
  call = ask(),
  inside?: (target: Target) => Reply | Promise<Reply>,
  mode: Mode = 'enforce',
) {
  let seen: readonly Target[] = []
  const reply = await through([{ name: 'routing', acting, mode }], call, {
    witness: {
      heard(_seat, verdict) {
        if (verdict.kind === 'pass') seen = verdict.facts.target ?? []
      },
    },
    inside: async () => (inside ?? ((target) => answered(100, target)))(seen[0] ?? { runner: 'a', model: 'big' }),
  })
  for await (const _ of reply.bytes());
  return seen.map((each) => each.runner).join('')
}

describe('counters', () => {
  test('what was really used decides, not what was asked for', async () => {
    const acting = await open([big, small])
    expect(await run(acting, ask(), (target) => answered(10_000, target))).toBe('ab')
    expect(await run(acting, ask(), (target) => answered(10, target))).toBe('ba')
    expect(await run(acting)).toBe('ba')
  })
  test('a call under way counts with its whole budget', async () => {
    const acting = await open([big, small])
    const first = ask({ max_tokens: 5000 })
    expect(await acting.decide?.(first, 'enforce')).toMatchObject({
      facts: { target: [{ runner: 'a' }, { runner: 'b' }] },
    })
    expect(await run(acting)).toBe('ba')
    expect(await run(acting)).toBe('ba')
    acting.release?.(first)
    expect(await run(acting)).toBe('ab')
  })
  test('a call that fails further in gives its budget back', async () => {
    const acting = await open([big, small])
    const failing = async () => Promise.reject(new TypeError('broken'))
    await expect(run(acting, ask({ max_tokens: 9000 }), failing)).rejects.toMatchObject({ code: 'internal' })
    expect(await run(acting)).toBe('ab')
  })
  test("a runner's error gives its budget back", async () => {
    const acting = await open([big, small])
    const body = (async function* () {
      yield Buffer.from('{"error":{"message":"busy"}}')
    })()
    const busy = replyFromBytes({ status: 503, streamed: false, source: 'runner' }, 'json', body)
    await run(acting, ask({ max_tokens: 9000 }), () => busy)
    expect(await run(acting)).toBe('ab')
  })
  test('tokens are charged to the target that served, wherever the call was sent first', async () => {
    const acting = await open([big, small])
    await run(acting, ask(), () => answered(5000, { runner: 'b', model: 'small' }))
    expect(await run(acting)).toBe('ab')
    expect(await run(acting)).toBe('ab')
  })
  test('an answer without usage counts by its text', async () => {
    const acting = await open([big, small])
    await run(acting, ask(), (target) => answered(-1, target, true))
    // 2 words asked and 2 answered are less than the 100 that b gets now.
    expect(await run(acting)).toBe('ba')
    expect(await run(acting)).toBe('ab')
  })
  test('an aborted stream is charged for what was seen, once', async () => {
    const acting = await open([big, small])
    const leaving = new AbortController()
    const call = ask({ max_tokens: 9000 }, { signal: leaving.signal })
    const first = (await acting.decide?.(call, 'enforce')) as Pass
    const reply = (await acting.settle?.(call, answered(-1, first.facts.target?.[0] as Target, true), {
      mode: 'enforce',
      again: async () => {
        throw new TypeError('never asked again')
      },
    })) as Reply
    for await (const _ of reply.batches()) break
    acting.release?.(call)
    acting.release?.(call)
    expect(await run(acting)).toBe('ba')
    expect(await run(acting)).toBe('ab')
  })
  test('tenants do not pay for each other', async () => {
    const acting = await open([big, small])
    await run(acting, ask({}, { tenant: 't1' }), (target) => answered(1_000_000, target))
    const order = []
    for (let i = 0; i < 4; i++) order.push(await run(acting, ask({}, { tenant: 't2' })))
    expect(order).toEqual(['ba', 'ab', 'ba', 'ab'])
  })
  test('an observer keeps the counters of its own side as if it decided, and moves none of the other', async () => {
    const gateway = await open([big, small])
    const runner = await open([big, small], {}, {}, 'runner')
    const call = ask({ max_tokens: 5000 })
    expect(await run(runner, call, (target) => answered(10_000, target), 'observe')).toBe('ab')
    await settled()
    expect(await run(runner)).toBe('ba')
    expect(await run(gateway)).toBe('ab')
  })
  test('an observer charges what was really used, on the target that served, and nothing for a call that fails', async () => {
    const acting = await open([big, small])
    await run(acting, ask({ max_tokens: 9000 }), () => answered(10, { runner: 'b', model: 'small' }, true), 'observe')
    await settled()
    expect(await run(acting)).toBe('ab')
    const failing = async () => Promise.reject(new TypeError('broken'))
    await expect(run(acting, ask({ max_tokens: 9000 }), failing, 'observe')).rejects.toMatchObject({ code: 'internal' })
    expect(await run(acting)).toBe('ba')
  })
  test('who works on copies never sees an answer and charges its own estimate', async () => {
    const copy = await open([big, small], {}, {}, 'copy')
    const call = ask({ max_tokens: 5000 })
    await copy.decide?.(call, 'observe')
    copy.release?.(call)
    expect(await run(copy)).toBe('ba')
    expect(await run(copy)).toBe('ba')
  })
})

describe('conversations', () => {
  const headers = { 'x-conversation-id': 'c-1' }
  test('a conversation by header stays with its target, and follows it when another served', async () => {
    const acting = await open([big, small])
    expect(await run(acting, ask({}, { headers }))).toBe('ab')
    expect(await run(acting, ask({}, { headers }))).toBe('ab')
    await run(acting, ask({}, { headers }), () => answered(100, { runner: 'b', model: 'small' }))
    expect(await run(acting, ask({}, { headers }))).toBe('ba')
  })
  test('a long opening names a conversation, a short one does not', async () => {
    const acting = await open([big, small])
    const opening = { role: 'user', content: 'tell me about '.repeat(40) }
    const more = [opening, { role: 'assistant', content: 'well' }, { role: 'user', content: 'go on' }]
    expect(await run(acting, ask({ messages: [opening] }))).toBe('ab')
    expect(await run(acting, ask({ messages: more }))).toBe('ab')
    expect(await run(acting)).toBe('ba')
    expect(await run(acting, ask({ messages: more }))).toBe('ab')
  })
  test('the same conversation name of two tenants is two conversations', async () => {
    const acting = await open([big, small])
    await run(acting, ask({}, { headers }), () => answered(100, { runner: 'b', model: 'small' }))
    expect(await run(acting, ask({}, { headers, tenant: 't2' }))).not.toBe('')
    expect(await run(acting, ask({}, { headers }))).toBe('ba')
  })
  test('affinity off spreads a conversation', async () => {
    const acting = await open([big, small], { affinity: { enabled: false } })
    expect(await run(acting, ask({}, { headers }))).toBe('ab')
    expect(await run(acting, ask({}, { headers }))).toBe('ba')
  })
})

describe('refusals', () => {
  test('an unknown model is 404 and nothing is counted', async () => {
    const acting = await open([big, small])
    await expect(run(acting, ask({ model: 'nope' }))).rejects.toMatchObject({ code: 'model_not_found', status: 404 })
  })
  test('with every runner down the call is refused with a time to come back', async () => {
    const gone = { available: false, retryAfterMs: 2000 }
    const acting = await open([big, small], {}, { a: gone, b: { ...gone, retryAfterMs: 700 } })
    await expect(run(acting)).rejects.toMatchObject({ code: 'runner_unreachable', detail: { retryAfterMs: 700 } })
  })
  test('the layer leaves the request alone: its bytes stay what they were', async () => {
    const acting = await open([big, small])
    const verdict = await acting.decide?.(ask(), 'enforce')
    expect(verdict).toEqual({
      kind: 'pass',
      facts: {
        target: [
          { runner: 'a', model: 'big' },
          { runner: 'b', model: 'small' },
        ],
      },
    })
  })
})

describe('configuration', () => {
  const faultsOf = async (targets: object[]): Promise<string[]> => {
    try {
      await open(targets)
    } catch (error) {
      const { faults } = (error as { detail: { faults: { path: string }[] } }).detail
      return faults.map((each) => each.path)
    }
    return []
  }
  test('every fault across fields is named at once', async () => {
    const crossed = { ...small, min_input_length: 10, max_input_length: 5 }
    expect(await faultsOf([{ ...big, runner: 'gone' }, crossed, small])).toEqual([
      'targets[0].runner',
      'targets[1].max_input_length',
      'targets[2]',
    ])
  })
  test('weights that are all zero are a fault, also for one tier', async () => {
    expect(
      await faultsOf([
        { ...big, weight: 0 },
        { ...small, weight: 0 },
      ]),
    ).toEqual(['targets'])
    expect(
      await faultsOf([
        { ...big, tier_weights: { free: 0 } },
        { ...small, tiers: ['vip'] },
      ]),
    ).toEqual(['targets'])
    expect(await faultsOf([big, { ...small, weight: 0 }])).toEqual([])
  })
  test('unknown keys and values out of range are refused with their path', () => {
    expect(routing.config.faults({ targets: [{ ...big, wieght: 1 }] })).toMatchObject([{ path: 'targets[0].wieght' }])
    expect(routing.config.faults({ targets: [{ ...big, weight: -1 }] })).toMatchObject([{ path: 'targets[0].weight' }])
    expect(routing.config.faults({ targets: [] })).toMatchObject([{ path: 'targets' }])
  })
})
