import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalDigest, canonicalJson } from './canonical.ts'
import { jsonFromText } from './chat.ts'

describe('canonicalJson()', () => {
  it('sorts members by UTF-16 code units, as RFC 8785 §3.2.3 shows', () => {
    const value = { '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '\u{1f600}': 5, '\u0080': 6, '\u00f6': 7 }
    expect(Object.values(JSON.parse(canonicalJson(value)))).toHaveLength(7)
    expect(canonicalJson(value)).toBe('{"\\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\u{1f600}":5,"\ufb33":3}')
  })

  it('writes numbers in their shortest form', () => {
    expect(canonicalJson([JSON.parse('333333333.33333329'), 1e30, 4.5, 2e-3, 0.000000000000000000000000001, -0])).toBe(
      '[333333333.3333333,1e+30,4.5,0.002,1e-27,0]',
    )
  })

  it('keeps the digits of integers that a double cannot hold', () => {
    expect(canonicalJson(jsonFromText('{"b":1.0,"a":12345678901234567890}'))).toBe('{"a":12345678901234567890,"b":1}')
  })

  it('does not depend on the order of members', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const turned = Object.fromEntries(Object.entries(value).reverse())
        expect(canonicalDigest(turned)).toBe(canonicalDigest(value))
      }),
      { seed: 3 },
    )
  })

  it('refuses what is nested too deeply', () => {
    const deep = JSON.parse(`${'['.repeat(500)}${']'.repeat(500)}`)
    expect(() => canonicalJson(deep)).toThrow(/nested deeper/)
  })
})
