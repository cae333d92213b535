import { describe, expect, it } from 'vitest'
import { sha256 } from '../../../plugins/canonical.ts'
import { createDistinctSketch, sketchFromText } from './distinct-sketch.ts'
import { createSeenUnits, type SeenUnits, seenFromSketches } from './seen-units.ts'

const hour = 3_600_000
const now = 472_223 * hour + 5_000
const hash = (name: string): string => sha256(name).slice(0, 16)

const see = (seen: SeenUnits, names: readonly string[], at = now) => {
  for (const name of names) seen.add({ unit: hash(name), tenant: hash(name.slice(0, 2)), strata: ['stream'], at })
}
const numbered = (count: number, prefix = 't') => Array.from({ length: count }, (_, each) => `${prefix}${each}`)
const seenBy = (...all: readonly SeenUnits[]) => seenFromSketches(all.map((each) => each.sketch(now)))

describe('the sketch of distinct things', () => {
  it.each([0, 1, 3, 10, 25, 50])('counts %i, or one more or less', (count) => {
    const sketch = createDistinctSketch()
    for (let round = 0; round < 3; round++) for (const name of numbered(count)) sketch.add(hash(name))
    expect(Math.abs(sketch.count() - count)).toBeLessThanOrEqual(count > 10 ? 1 : 0)
  })

  it.each([1_000, 5_000, 20_000, 200_000])('counts %i within three standard errors', (count) => {
    const sketch = createDistinctSketch()
    for (const name of numbered(count)) sketch.add(hash(name))
    expect(Math.abs(sketch.count() / count - 1)).toBeLessThan(3 * 0.023)
  })

  it('is the same whatever the order, and whoever saw what', () => {
    const [one, left, right] = [createDistinctSketch(), createDistinctSketch(), createDistinctSketch()]
    for (const [at, name] of numbered(3_000).entries()) {
      one.add(hash(name))
      if (at % 3 < 2) left.add(hash(name))
      if (at % 3 > 0) right.add(hash(name))
    }
    right.merge(sketchFromText(left.text()))
    expect(right.text()).toBe(one.text())
  })

  it('what is no sketch is an empty one', () => {
    expect(sketchFromText('hello').count()).toBe(0)
  })
})

describe('what was seen', () => {
  it('is counted by units, by tenants and by stratum', () => {
    const seen = createSeenUnits('a')
    see(seen, ['aa1', 'aa2', 'bb1', 'aa1'])
    expect(seenBy(seen)).toEqual({ units: 3, tenants: 2, strata: { stream: 4 } })
  })

  it('by several replicas is counted once; of each replica the latest word counts', () => {
    const [a, b] = [createSeenUnits('a'), createSeenUnits('b')]
    see(a, ['aa1', 'bb1'])
    const before = { ...a.sketch(now - 1_000), strata: { stream: 2 } }
    see(a, ['cc1'])
    see(b, ['bb1', 'dd1'])
    expect(seenFromSketches([b.sketch(now), a.sketch(now), before])).toEqual(seenBy(a, b))
    expect(seenBy(a, b)).toEqual({ units: 4, tenants: 4, strata: { stream: 5 } })
  })

  it('is forgotten after 24 hours', () => {
    const seen = createSeenUnits('a')
    see(seen, ['aa1'], now - 24 * hour)
    see(seen, ['bb1'], now - 23 * hour)
    see(seen, ['cc1'])
    expect(seenBy(seen)).toEqual({ units: 2, tenants: 2, strata: { stream: 2 } })
  })

  it('takes no more room after a year', () => {
    const seen = createSeenUnits('a')
    for (let at = 0; at < 365 * 24; at++) see(seen, [`t${at}`], now + at * hour)
    const { strata } = seenFromSketches([seen.sketch(now + 364 * 24 * hour + 23 * hour)])
    expect(strata).toEqual({ stream: 24 })
  })
})
