import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalJson } from '../canonical.ts'
import { jsonFromText } from '../chat.ts'
import { preciseValue } from './precision.ts'

const key = (value: unknown, precision?: string): string => canonicalJson(preciseValue(value, precision))
const same = (precision: string | undefined, a: unknown, b: unknown): boolean => key(a, precision) === key(b, precision)

describe('int64', () => {
  test.each([
    [123456789, '123456789.0'],
    ['007', 7],
    ['-0', 0],
    ['1e3', 1000],
    [' 12 ', 12],
    [jsonFromText('9007199254740993'), '9007199254740993.000'],
  ])('%s and %s are the same integer', (a, b) => expect(same('int64', a, b)).toBe(true))

  test.each([
    ['9007199254740993', '9007199254740992'],
    ['9223372036854775808', '9223372036854775807'],
    [1.5, 1],
    ['1 2', '12'],
    [null, 0],
    ['', 0],
    [true, 1],
    [[1], 1],
  ])('%s and %s are not', (a, b) => expect(same('int64', a, b)).toBe(false))

  test('what does not fit 64 bits is not taken for a number', () => {
    expect(preciseValue('9223372036854775808', 'int64')).toEqual({ v: '9223372036854775808' })
    expect(preciseValue('-9223372036854775808', 'int64')).toEqual({ n: '-9223372036854775808' })
  })

  test('every safe integer equals its own text with any closing zeros', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.nat(5), (n, zeros) =>
        same('int64', n, `${n}${zeros > 0 ? `.${'0'.repeat(zeros)}` : ''}`),
      ),
      { seed: 1 },
    )
  })
})

describe('float64 and decimal:N', () => {
  test('a double equals its text, however it is written', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (n) => same('float64', n, String(n))),
      { seed: 2 },
    )
  })

  test('0 and 0.0 and -0 are one number under every numeric precision, and absent text is none of them', () => {
    for (const precision of ['int64', 'float64', 'decimal:2']) {
      expect(new Set(['0', '0.0', 0, -0].map((each) => key(each, precision))).size).toBe(1)
      expect(same(precision, '', 0)).toBe(false)
    }
  })

  test.each([
    ['1.005', '1.01', true],
    ['1.0049', '1.00', true],
    ['-1.005', '-1.01', true],
    ['0.004', '0', true],
    ['999.995', '1000', true],
    ['1e-7', '0', true],
    ['1.01', '1.02', false],
  ])('%s and %s agree to two places: %s', (a, b, agree) => expect(same('decimal:2', a, b)).toBe(agree))

  test('no power of ten, however large, costs more than its digits', () => {
    expect(preciseValue('1e999', 'decimal:2')).toEqual({ v: '1e999' })
    expect(preciseValue(`1${'0'.repeat(5000)}`, 'decimal:2')).toEqual({ v: `1${'0'.repeat(5000)}` })
    expect(preciseValue('1e400', 'float64')).toEqual({ v: '1e400' })
  })
})

describe('strings', () => {
  test.each([
    ['string', 5, '5', true],
    ['string', ' a', 'a', false],
    ['string_trim', '\u3000a\n', 'a', true],
    ['string_trim', 'A', 'a', false],
    ['string_nfc', 'e\u0301', 'é', true],
    ['string_nfc', 'É', 'é', false],
    ['string_fold', 'STRASSE', 'straße', true],
    ['string_fold', 'ΟΔΟΣ', 'οδος', true],
    ['string_fold', 'a', 'b', false],
    [undefined, 'e\u0301', 'é', false],
    [undefined, 5, '5', false],
  ])('under %s, %j and %j are the same: %s', (precision, a, b, agree) => expect(same(precision, a, b)).toBe(agree))

  test('the text of content parts is changed, and an image address is not', () => {
    const parts = (text: string, url: string) => [
      { type: 'text', text },
      { type: 'image_url', image_url: { url } },
    ]
    expect(same('string_fold', parts('Hi', 'data:A'), parts('hi', 'data:A'))).toBe(true)
    expect(same('string_fold', parts('hi', 'data:A'), parts('hi', 'data:a'))).toBe(false)
  })
})
