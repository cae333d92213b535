import { describe, expect, it } from 'vitest'
import { type Flowing, foldable, orderFaults } from './flow.ts'
import { layers } from './index.ts'

const real: readonly Flowing[] = layers
const names = real.map(({ name }) => name)

describe('the order of the layers', () => {
  it('lets no layer read a fact before it is written, and gives each fact one writer', () => {
    expect(orderFaults(real)).toEqual([])
  })

  it('says what is wrong with an order that does not hold', () => {
    expect(orderFaults(real.toReversed()).join('; ')).toMatch(/reads principal before auth writes it/)
  })
})

describe('foldable()', () => {
  it('allows every set that is whole from the inside out', () => {
    for (let from = 0; from <= names.length; from++) {
      expect(foldable(real, new Set(names.slice(from)))).toEqual({ ok: true })
    }
  })

  it('refuses a layer whose facts a layer further in still needs here', () => {
    const verdict = foldable(real, new Set(['auth']))
    expect(verdict).toMatchObject({ ok: false, why: expect.stringMatching(/auth cannot move while .* stays/) })
  })

  it('refuses an outer layer while one that may answer stays further in', () => {
    const [limit, answering] = [
      { name: 'limit', reads: [], writes: [], answers: false, rewrites: false },
      { name: 'answering', reads: [], writes: [], answers: true, rewrites: false },
    ]
    expect(foldable([limit, answering], new Set(['limit']))).toMatchObject({
      ok: false,
      why: expect.stringMatching(/could answer/),
    })
  })
})
