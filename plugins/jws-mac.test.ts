import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createMac } from './jws-mac.ts'

describe('the mac of a text', () => {
  // RFC 4231 §4, test cases 1, 2, 6 and 7.
  it.each([
    ['0b'.repeat(20), 'Hi There', 'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7'],
    ['4a656665', 'what do ya want for nothing?', '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843'],
    [
      'aa'.repeat(131),
      'Test Using Larger Than Block-Size Key - Hash Key First',
      '60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54',
    ],
    [
      'aa'.repeat(131),
      'This is a test using a larger than block-size key and a larger than block-size data. The key needs to be hashed before being used by the HMAC algorithm.',
      '9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2',
    ],
  ])('under the secret %s is that of RFC 4231', (secret, input, right) => {
    const mac = createMac(Buffer.from(secret, 'hex')).of(input, 'base64')
    expect(Buffer.from(mac, 'base64').toString('hex')).toBe(right)
  })

  it('is that of the library for every length of secret and text, and whatever was signed before', () => {
    for (const secretBytes of [0, 1, 31, 32, 63, 64, 65, 200]) {
      const secret = Buffer.alloc(secretBytes, 0xa5)
      const mac = createMac(secret)
      for (const length of [5_461, 0, 1, 55, 56, 64, 700, 5_462, 20_000]) {
        for (const letter of ['x', 'ü', '租', '💥', '\ud800']) {
          const input = letter.repeat(length)
          const right = createHmac('sha256', secret).update(input).digest()
          const wrong = Buffer.from(right)
          wrong[31]! ^= 1
          const said = [mac.of(input, 'base64url'), mac.is(right, input), mac.is(wrong, input)]
          expect(said, `${secretBytes} bytes, ${length} × ${letter}`).toEqual([
            right.toString('base64url'),
            true,
            false,
          ])
        }
      }
    }
  })

  it('is no signature of another length', () => {
    const mac = createMac(Buffer.alloc(32, 1))
    const right = Buffer.from(mac.of('x', 'base64'), 'base64')
    const others = [Buffer.alloc(0), right.subarray(0, 31), Buffer.concat([right, Buffer.alloc(1)])]
    expect(others.map((each) => mac.is(each, 'x'))).toEqual([false, false, false])
  })
})
