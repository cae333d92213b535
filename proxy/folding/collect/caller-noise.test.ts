import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type FallbackReason, fallbackCauses, isEvidence } from '../../../plugins/execution-context-fallback.ts'
import { decide } from '../rollout/decision.ts'
import type { Flush } from '../rollout/evidence.ts'
import { evidenceFrom } from '../rollout/evidence-merge.ts'
import { figuresFrom } from '../rollout/figures.ts'
import { constantsOf, viewOf } from '../rollout/test-evidence.ts'
import type { Collector } from './collector.ts'
import { began, collecting, endOf, type TestEnd, whole } from './test-calls.ts'

/** Everything that a caller can do to a call, and what people can. */
const noise: readonly TestEnd[] = [
  ...[400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 431].map((code): TestEnd => ({ code })),
  { code: 404, error: 'runner_error' },
  { code: 499, error: 'client_closed' },
  { code: 499, error: 'client_closed', attrs: { 'foldgate.broken': 'end-mark', 'foldgate.unacknowledged': 'prompt' } },
  { code: 499, error: 'client_closed', attrs: { 'foldgate.first_byte_ms': 50_000 } },
  { code: 500, attrs: { 'foldgate.chosen': true } },
  ...(Object.keys(fallbackCauses) as FallbackReason[])
    .filter((reason) => !isEvidence(reason))
    .flatMap((fallback): TestEnd[] => [
      { fallback },
      { fallback, code: 500, error: 'runner_error' },
      { fallback, attrs: { 'foldgate.first_byte_ms': 50_000 } },
      { fallback, code: 400, error: 'invalid_request' },
    ]),
]
const hostile = [1_001, 1_002]

/** A healthy rollout with some faults of its own: the canary has a tenth. */
const service = (at: number): TestEnd => ({
  unit: at % 200,
  arm: at % 10 === 0 ? 'canary' : 'control',
  at: began + at * 50,
  ...(at % 700 === 0 ? { code: 500 } : {}),
  ...(at % 450 === 10 && at % 10 === 0 ? { fallback: 'runner-timeout' } : {}),
})

function run(calls: number, between: (collector: Collector, at: number) => void = () => undefined): Collector {
  const collector = collecting()
  for (let at = 0; at < calls; at++) {
    whole(collector, service(at))
    between(collector, at)
  }
  return collector
}

/** Of a flush, all that anything held against the runner, or for it, is made of. */
function held({ cells, places, shadow, severe, coverage, minutes }: Flush) {
  const arm = ({
    bad,
    failed,
    fallbacks,
    unknownVersions,
    mismatches,
    timed,
    overQ95,
    overQ99,
  }: (typeof cells)[0]['canary']) => ({
    ...{ bad, failed, unknownVersions, mismatches, timed, overQ95, overQ99 },
    evidence: Object.entries(fallbacks).filter(([reason]) => isEvidence(reason as FallbackReason)),
  })
  return {
    cells: cells.map((cell) => ({ ...cell, canary: arm(cell.canary), control: arm(cell.control) })),
    ...{ places, shadow, severe, coverage },
    lost: minutes.map(({ assigned, accounted }) => assigned - accounted),
  }
}

describe('noise of two hostile tenants', () => {
  it('leaves everything untouched that is held against the runner (scenario 33)', () => {
    const quiet = run(1_000).flush('r1')
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom(...noise), fc.constantFrom(...hostile)), { minLength: 1, maxLength: 40 }),
        fc.nat(40),
        (made, gap) => {
          let next = 0
          const noisy = run(1_000, (collector, at) => {
            if (at % (gap + 1) > 0) return
            const [call, unit] = made[next++ % made.length]!
            whole(collector, { ...call, unit, at: began + at * 50 })
          })
          expect(held(noisy.flush('r1'))).toEqual(held(quiet))
        },
      ),
      { numRuns: 40, seed: 33 },
    )
  })

  it('changes no verdict, though there is ten times as much of it', () => {
    const constants = constantsOf('S1')
    const verdict = (collector: Collector) => {
      const evidence = evidenceFrom(viewOf('S1', constants), [collector.flush('r1')])
      const { errors, fallbacks, mismatches, logs } = figuresFrom(evidence, constants)
      const { kind, eject } = decide(evidence, constants, began + 3_000_000)
      return { kind, eject, x: [errors.x, fallbacks.x, mismatches.x], slow: logs.slow }
    }
    const noisy = run(500, (collector, at) => {
      for (let each = 0; each < 10; each++) {
        whole(collector, { ...noise[(at + each) % noise.length]!, unit: hostile[each % 2]!, at: began + at * 50 })
      }
    })
    expect(verdict(noisy)).toEqual(verdict(run(500)))
  })

  it('does not hide a runner that fails: the run goes on across it', () => {
    const collector = collecting()
    for (const unit of [1, 2, 3]) {
      collector.onEnd(endOf({ unit, code: 500 }))
      for (const call of noise) collector.onEnd(endOf({ ...call, unit: hostile[unit % 2]! }))
    }
    expect(collector.flush('r1').places[0]?.blown).toEqual(['bad'])
  })

  it('is counted apart, by what was done', () => {
    const collector = collecting()
    for (const call of noise) collector.onEnd(endOf({ ...call, unit: hostile[0]! }))
    const apart = collector.apart('r1')
    expect(apart).toMatchObject({ chosen: 1, aborted: 3, limited: 1, refused: 11, debug_force: 4, 'schema-keyword': 4 })
    expect(Object.values(apart).reduce((sum, count) => sum + count, 0)).toBe(noise.length)
  })
})
