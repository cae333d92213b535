import { describe, expect, it } from 'vitest'
import { type Acknowledgement, essenceDigest, mergedAcknowledgement } from './acknowledgement.ts'
import { sha256 } from './canonical.ts'

const id = '0123456789abcdef0123456789abcdef'
const pol = sha256('policy')

describe('essenceDigest()', () => {
  it('is the first 16 bytes of the SHA-256 of the canonical form', () => {
    expect(essenceDigest({ b: 1, a: 2 })).toBe(essenceDigest({ a: 2, b: 1 }))
    const sum = Buffer.from(sha256('{"a":2,"b":1}'), 'hex').subarray(0, 16)
    expect(essenceDigest({ b: 1, a: 2 })).toBe(sum.toString('base64'))
    expect(essenceDigest({ a: 1 })).not.toBe(essenceDigest({ a: 2 }))
  })
})

describe('mergedAcknowledgement()', () => {
  it('what the end says counts, and what it does not say stays', () => {
    const head: Acknowledgement = {
      runner: { boot: 'b_1', id, pol },
      layers: { postprocess: { v: 1, m: 'enforce', o: 'armed' }, cache: { v: 1, m: 'enforce', o: 'pass' } },
    }
    const end: Acknowledgement = { runner: { id }, layers: { postprocess: { o: 'ok' } }, usage: { out: 3 } }
    expect(mergedAcknowledgement(head, end)).toEqual({
      runner: { boot: 'b_1', id, pol },
      layers: { postprocess: { v: 1, m: 'enforce', o: 'ok' }, cache: { v: 1, m: 'enforce', o: 'pass' } },
      usage: { out: 3 },
    })
  })
})
