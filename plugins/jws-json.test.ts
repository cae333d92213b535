import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jsonFromText } from './chat.ts'
import { jsonObjectFromBytes } from './jws-json.ts'

const read = (text: string) => jsonObjectFromBytes(Buffer.from(text))

describe('jsonObjectFromBytes()', () => {
  it('reads any object that JSON wrote', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()), (value) => {
        const text = JSON.stringify(value)
        expect(read(text)).toEqual(JSON.parse(text))
        expect(read(JSON.stringify(value, null, 2))).toEqual(JSON.parse(text))
      }),
      { seed: 5 },
    )
  })

  it.each([
    '{"a":1,"a":1}',
    '{"a":{"b":1,"b":2}}',
    '{"a":[{"b":1},{"c":1,"c":1}]}',
    '{"a\\"b":1,"a\\u0022b":2}',
    '{"\\\\":1,"\\\\":2}',
    '{"__proto__":1,"__proto__":2}',
  ])('a member that stands twice is refused: %s', (text) => {
    expect(read(text)).toBeUndefined()
  })

  it.each(['{"a":":","b":"\\":{"}', '{"a\\\\":1,":":[{"c":"d"}]}', '{"a":"\\\\\\""}'])(
    'is not misled by %s',
    (text) => {
      expect(read(text)).toEqual(JSON.parse(text))
    },
  )

  it.each(['', 'null', '[]', '1', '"a"', '{', '{} {}', '{"a":01}', '\ufeff{}'])('"%s" is no object', (text) => {
    expect(read(text)).toBeUndefined()
  })

  it('bytes that are not UTF-8 are refused', () => {
    expect(jsonObjectFromBytes(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))).toBeUndefined()
  })

  it('what is nested too deeply is refused, however deep', () => {
    const nested = (levels: number): string => `{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`
    expect(read(nested(150))).toBeDefined()
    for (const levels of [250, 50_000]) expect(read(nested(levels))).toBeUndefined()
  })

  it('keeps digits where it is told to', () => {
    const value = jsonObjectFromBytes(Buffer.from('{"a":12345678901234567890}'), jsonFromText)
    expect(JSON.stringify(value)).toBe('{"a":12345678901234567890}')
  })
})
