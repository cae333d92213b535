import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { foldable } from './flow.ts'
import { layers } from './index.ts'
import { closureOf, stagesFault } from './legality.ts'
import type { Stage } from './stage.ts'

const all = layers.map(({ name, reads, writes, answers, rewrites }) => ({
  name,
  reads,
  writes,
  answers,
  rewrites,
  stays: undefined,
}))
const names = all.map(({ name }) => name)
const at = (stages: Record<string, Stage>) => (name: string) => ({ stage: stages[name] ?? ('gateway' as const) })

describe('stagesFault()', () => {
  it('inside out is legal at each step', () => {
    for (let native = 0; native < names.length; native++) {
      const moved = names.slice(names.length - native)
      const next = names[names.length - native - 1] as string
      const stages = Object.fromEntries(moved.map((name) => [name, 'native' as Stage]))
      expect(stagesFault(all, at(stages))).toBeUndefined()
      for (const stage of ['shadow', 'canary'] as const) {
        expect(stagesFault(all, at({ ...stages, [next]: stage }))).toBeUndefined()
      }
    }
  })

  it('outside in is refused, in words', () => {
    expect(stagesFault(all, at({ auth: 'native' }))).toMatch(/^auth cannot move while rate-limit stays: .*principal/)
    expect(stagesFault(all, at({ cache: 'shadow' }))).toMatch(/^cache cannot move while/)
  })

  it('each layer alone is legal when the others are off', () => {
    for (const layer of all) expect(stagesFault([layer], at({ [layer.name]: 'native' }))).toBeUndefined()
  })

  it('only one layer moves at a time', () => {
    expect(stagesFault(all, at({ prompt: 'canary', postprocess: 'shadow' }))).toMatch(/cannot move at a time/)
  })

  it('a layer that can never leave says why', () => {
    const [auth] = all as [(typeof all)[number]]
    expect(stagesFault([{ ...auth, stays: 'a trusted hop has no credential' }] as never, at({ auth: 'shadow' }))).toBe(
      'auth stays in the gateway: a trusted hop has no credential',
    )
  })
})

describe('closureOf()', () => {
  const subset = fc.subarray(names)

  it('leaves the rest foldable, and takes no layer that could have stayed', () => {
    fc.assert(
      fc.property(subset, subset, (set, failing) => {
        const folded = new Set(set)
        fc.pre(foldable(all, folded).ok)
        const broken = failing.filter((name) => folded.has(name))
        fc.pre(broken.length > 0)
        const closure = closureOf(all, folded, broken)
        const rest = set.filter((name) => !closure.includes(name))
        expect(broken.every((name) => closure.includes(name))).toBe(true)
        expect(foldable(all, new Set(rest)).ok).toBe(true)
        // Least: every legal set without the broken layers is inside the rest.
        const largest = subsets(set.filter((name) => !broken.includes(name))).filter(
          (each) => foldable(all, new Set(each)).ok,
        )
        expect(Math.max(...largest.map((each) => each.length))).toBe(rest.length)
      }),
      { numRuns: 300 },
    )
  })

  it('prompt takes everything further out along, postprocess only auth', () => {
    expect(closureOf(all, new Set(names), ['prompt'])).toEqual(['auth', 'rate-limit', 'cache', 'routing', 'prompt'])
    expect(closureOf(all, new Set(names), ['postprocess'])).toEqual(['auth', 'postprocess'])
  })
})

function subsets(set: readonly string[]): string[][] {
  return Array.from({ length: 2 ** set.length }, (_, bits) => set.filter((_each, at) => (bits >> at) & 1))
}
