import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createTestHost } from '../../test/support/host.ts'
import { createCall } from '../call.ts'
import type { Acting } from '../layer.ts'
import { createLru } from '../lru.ts'
import { replyFromCompletion, type Target } from '../reply.ts'
import type { Pass } from '../verdict.ts'
import { routing } from './index.ts'
import { createLedger } from './ledger.ts'

/** Numbers in [0, 1) that are the same in every run (Park and Miller, 1988). */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

interface Load {
  readonly targets: readonly { model: string; weight: number; [member: string]: unknown }[]
  readonly calls: number
  readonly tenantOf?: (i: number) => string
  readonly more?: object
  readonly down?: (i: number, runner: string) => boolean
  /** Restarts the layer after so many calls. */
  readonly restartEvery?: number
}

const signal = new AbortController().signal

/** Plays calls of skewed length, eight of them under way at any time; answers with each target's share of the tokens used. */
async function sharesOf(load: Load): Promise<number[]> {
  const { targets, calls, tenantOf = () => 't', more = {}, down = () => false, restartEvery = Infinity } = load
  const random = randomFrom(42)
  const used = new Map<string, number>()
  const inFlight: (() => Promise<void>)[] = []
  let at = 0
  const runners = {
    names: ['r', 'down'],
    state: (name: string) => ({ available: !down(at, name), retryAfterMs: 0, outstandingTokens: 0 }),
    ask: async () => '',
  }
  const tokens = {
    estimate: (request: { input?: unknown; max_tokens?: number | null }) => ({
      input: Number(request.input),
      error: 0,
      output: request.max_tokens ?? 0,
    }),
    count: () => 0,
    exact: async () => undefined,
    learn: () => undefined,
  }
  const config = routing.config.parse({ targets: targets.map((each) => ({ runner: 'r', ...each })), ...more })
  const open = async (): Promise<Acting> => routing.open(config, createTestHost({ runners, tokens: tokens as never }))
  let acting = await open()
  for (at = 0; at < calls; at++) {
    if (at > 0 && at % restartEvery === 0) acting = await open()
    // Log-uniform: a few calls are a hundred times as long as most.
    const input = Math.ceil(20 * 200 ** random())
    const answer = Math.ceil(400 * random() ** 3)
    const body = Buffer.from(JSON.stringify({ model: 'auto', input: String(input), max_tokens: 400 }))
    const principal = { id: 'u', tenant: tenantOf(at), tier: '', scopes: [], claims: {}, method: 'jwt' as const }
    const init = { route: 'embeddings' as const, now: 1_000_000 + at * 20, headers: {}, signal, body }
    const call = createCall({ ...init, id: String(at), facts: { principal } })
    const seat = acting
    const verdict = (await seat.decide?.(call, 'enforce')) as Pass
    const target = verdict.facts.target?.[0] as Target
    inFlight.push(async () => {
      const usage = { total_tokens: input + answer }
      const reply = replyFromCompletion({ status: 200, streamed: false, source: 'runner', target }, { usage })
      const settled = await seat.settle?.(call, reply, { mode: 'enforce', again: async () => reply })
      for await (const _ of settled?.bytes() ?? []);
      seat.release?.(call)
      used.set(target.model, (used.get(target.model) ?? 0) + usage.total_tokens)
    })
    if (inFlight.length > 8) await inFlight.splice(Math.floor(random() * 8), 1)[0]?.()
  }
  for (const end of inFlight) await end()
  const all = [...used.values()].reduce((sum, each) => sum + each, 0)
  return targets.map(({ model }) => (used.get(model) ?? 0) / all)
}

const three = [
  { model: 'm1', weight: 6 },
  { model: 'm2', weight: 3 },
  { model: 'm3', weight: 1 },
]

function expectShares(shares: readonly number[], wanted: readonly number[], within = 0.01): void {
  for (const [i, share] of wanted.entries()) expect(Math.abs((shares[i] ?? 0) - share)).toBeLessThan(within)
}

describe('token shares', () => {
  test('20,000 calls of skewed length converge to the weights', async () => {
    expectShares(await sharesOf({ targets: three, calls: 20_000 }), [0.6, 0.3, 0.1], 0.002)
  })
  test('they converge also where a target takes only short or only large calls', async () => {
    const targets = [
      { model: 'm1', weight: 6 },
      { model: 'm2', weight: 3, min_tokens: 700 },
      { model: 'm3', weight: 1, max_input_length: 400 },
    ]
    expectShares(await sharesOf({ targets, calls: 20_000 }), [0.6, 0.3, 0.1])
  })
  test('many tenants with one call each share it as well as one tenant with many', async () => {
    expectShares(await sharesOf({ targets: three, calls: 5000, tenantOf: String }), [0.6, 0.3, 0.1])
  })
  test('a restart every hundred calls does not move the shares', async () => {
    expectShares(await sharesOf({ targets: three, calls: 10_000, restartEvery: 100 }), [0.6, 0.3, 0.1], 0.02)
  })
  test('a share that was lent comes back within the window, and what is older is forgotten', async () => {
    const targets = [
      { model: 'm1', weight: 1 },
      { model: 'm2', weight: 1, runner: 'down' },
    ]
    // 20 ms a call: down for 4 s, then up for 16 s; the window of a minute remembers nearly all of it.
    const down = (i: number, runner: string) => runner === 'down' && i < 200
    const [, back] = await sharesOf({ targets, calls: 1000, down })
    expect(back).toBeGreaterThan(0.45)
    const [, forgotten] = await sharesOf({ targets, calls: 1000, down, more: { lendWindowMs: 1000 } })
    expect(forgotten).toBeLessThan(0.45)
    expect(forgotten).toBeGreaterThan(0.4)
  })
})

describe('the ledger', () => {
  test('a rare caller is not begun anew each time: one call is never forgotten', () => {
    const ledger = createLedger({ targets: 2, windowMs: 1000, maxTenants: 10 })
    const account = ledger.account('t', 0)
    account.owed.set([-500, 500])
    account.keep = 600
    expect([...ledger.account('t', 1e9).owed]).toEqual([-500, 500])
    account.owed.set([-6000, 6000])
    expect([...ledger.account('t', 2e9).owed]).toEqual([-600, 600])
  })
  test('a clock that steps back changes nothing', () => {
    const ledger = createLedger({ targets: 2, windowMs: 1000, maxTenants: 10 })
    ledger.account('t', 10_000).owed.set([-50, 50])
    expect([...ledger.account('t', 5000).owed]).toEqual([-50, 50])
  })
  test('memory is bounded: the longest unused entry goes first', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(20)), (keys) => {
        const map = createLru<number>(5)
        const recent: number[] = []
        for (const key of keys) {
          if (map.get(String(key)) === undefined) map.set(String(key), key)
          if (recent.includes(key)) recent.splice(recent.indexOf(key), 1)
          recent.push(key)
          if (recent.length > 5) recent.shift()
        }
        expect(map.size).toBe(recent.length)
        for (const key of recent) expect(map.get(String(key))).toBe(key)
      }),
      { seed: 3 },
    )
  })
})
