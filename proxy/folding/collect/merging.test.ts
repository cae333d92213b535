import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { differsOf, equalOf, plainStrata, skippedOf } from '../diff/test-comparisons.ts'
import type { Evidence, Flush } from '../rollout/evidence.ts'
import { evidenceFrom } from '../rollout/evidence-merge.ts'
import { viewOf } from '../rollout/test-evidence.ts'
import type { Collector } from './collector.ts'
import { p99FromFlushes } from './latency-limits.ts'
import { began, collecting, type TestEnd, whole } from './test-calls.ts'

const endings: readonly TestEnd[] = [
  {},
  { code: 500 },
  { code: 502, error: 'runner_protocol' },
  { code: 404 },
  { code: 429 },
  { code: 499, error: 'client_closed' },
  { fallback: 'runner-timeout' },
  { fallback: 'schema-keyword' },
  { attrs: { 'foldgate.mismatch': 'version prompt' } },
  { attrs: { 'foldgate.unacknowledged': 'prompt', 'foldgate.tools': true } },
  { attrs: { 'foldgate.stream': false, 'foldgate.size': '64k', 'foldgate.tier': 'vip' } },
]

const comparisons = [
  equalOf(),
  differsOf(),
  skippedOf('budget'),
  equalOf({ tier: 'gold', strata: { ...plainStrata, stream: true, tools: true } }),
  differsOf({ f1: 'cross-tenant-key' }),
]

interface Happening {
  /** Which process it happens in. */
  readonly part: number
  readonly call?: TestEnd
  readonly comparison?: (typeof comparisons)[number]
}

// A unit's bad calls are in one process: of a retry that goes to another replica only that one could know.
const parts = 4
const calls = fc
  .record({
    unit: fc.nat(15),
    arm: fc.constantFrom('canary' as const, 'control' as const),
    ending: fc.constantFrom(...endings),
    at: fc.nat(8 * 60_000),
    ms: fc.nat(1_200),
    part: fc.nat(parts - 1),
  })
  .map(({ unit, arm, ending, at, ms, part }): Happening => {
    const { attrs, ...rest } = ending
    const call: TestEnd = { ...rest, unit, arm, at: began + at, attrs: { 'foldgate.first_byte_ms': ms, ...attrs } }
    const control = { ...call, fallback: undefined }
    const bad = ending.code !== undefined || attrs !== undefined
    return { part: bad ? unit % parts : part, call: arm === 'canary' ? call : (control as TestEnd) }
  })
const compared = fc
  .record({ comparison: fc.constantFrom(...comparisons), part: fc.nat(parts - 1) })
  .map((each): Happening => each)
const streams = fc.array(fc.oneof({ weight: 6, arbitrary: calls }, { weight: 1, arbitrary: compared }), {
  minLength: 1,
  maxLength: 120,
})
/** A stream, and the same in another order. */
const twice = streams.chain((stream) =>
  fc.tuple(
    fc.constant(stream),
    fc.shuffledSubarray([...stream], { minLength: stream.length, maxLength: stream.length }),
  ),
)

function happen(collector: Collector, { call, comparison }: Happening): void {
  if (call) whole(collector, call)
  if (comparison) collector.compared('r1', comparison)
}

function split(stream: readonly Happening[]): Collector[] {
  const all = Array.from({ length: parts }, (_, boot) => collecting({ boot: `${boot}` }))
  for (const each of stream) happen(all[each.part]!, each)
  return all
}

/** All but what is local by design: which fuses have blown hangs on the order in which calls end in one process. */
function counted(flushes: readonly Flush[]): Evidence {
  const evidence = evidenceFrom(viewOf('S1'), flushes)
  return { ...evidence, places: evidence.places.map((place) => ({ ...place, blown: [] })) }
}

describe('flushes', () => {
  it('of any partition of the calls, in any order, are that of all calls in one process', () => {
    fc.assert(
      fc.property(twice, ([stream, shuffled]) => {
        const one = collecting()
        for (const each of stream) happen(one, each)
        const several = split(shuffled)
        const flushes = several.map((each) => each.flush('r1'))
        expect(counted(flushes)).toEqual(counted([one.flush('r1')]))
        expect(p99FromFlushes(several.map((each) => each.latency('r1')!))).toEqual(p99FromFlushes([one.latency('r1')!]))
      }),
      { numRuns: 150, seed: 7 },
    )
  })

  it('that come twice, late or out of order change nothing (scenario 14) (I7)', () => {
    fc.assert(
      fc.property(streams, fc.nat(), (stream, seed) => {
        const collectors = split(stream.slice(0, stream.length >> 1))
        const early = collectors.map((each) => each.flush('r1'))
        for (const each of stream.slice(stream.length >> 1)) happen(collectors[each.part]!, each)
        const last = collectors.map((each) => each.flush('r1'))
        const all = [...last, ...early, ...last, ...early]
        const turned = [...all.slice(seed % all.length), ...all.slice(0, seed % all.length)]
        expect(evidenceFrom(viewOf('S1'), turned)).toEqual(evidenceFrom(viewOf('S1'), last))
      }),
      { numRuns: 60, seed: 8 },
    )
  })

  it('are copies: what is counted later does not change them', () => {
    const collector = collecting()
    whole(collector, { fallback: 'runner-error' })
    collector.compared('r1', equalOf())
    const flush = collector.flush('r1')
    const before = structuredClone(flush)
    whole(collector, { fallback: 'runner-error', code: 500 })
    collector.compared('r1', differsOf())
    collector.severe('r1', 'billing')
    expect(flush).toEqual(before)
  })

  it('are plain JSON', () => {
    const collector = collecting()
    for (const ending of endings) whole(collector, ending)
    const flush = collector.flush('r1')
    expect(JSON.parse(JSON.stringify(flush))).toEqual(flush)
  })
})
