import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createPatternWatch } from './pattern-watch.ts'
import { type PiiType, piiShapes } from './pii.ts'
import { createScanner, type WatchMaker } from './scanner.ts'

const cleaned = (type: PiiType, text: string): string => {
  const sought = { rule: type, action: 'redact', replacement: '#', rank: 0 } as const
  const watch = createPatternWatch(piiShapes[type].map((shape) => ({ shape, sought }))) as WatchMaker
  const scanner = createScanner({ watches: [watch], nfkc: false }, () => {})
  return scanner.push(text) + scanner.end()
}

test.each<[PiiType, string]>([
  ['email', 'john@example.com'],
  ['email', 'first.last+tag@mail.example.co.uk'],
  ['email', 'a_b%c-d@xn--bcher-kva.example'],
  ['email', 'x@y.xn--p1ai'],
  ['phone', '+86 138-0013-8000'],
  ['phone', '8613800138000'],
  ['phone', '0086 13800138000'],
  ['phone', '(+86) 13800138000'],
  ['phone', '13800138000'],
  ['phone', '138 0013 8000'],
  ['phone', '010-62345678'],
  ['phone', '0755-86013388-1234'],
  ['phone', '(010) 62345678'],
  ['phone', '400-810-8888'],
  ['phone', '+1 (415) 555-2671'],
  ['phone', '(415) 555-2671'],
  ['phone', '415-555-2671'],
  ['phone', '+44 20 7946 0958'],
  ['phone', '020 7946 0958'],
  ['phone', '+33 1 23 45 67 89'],
  ['card', '4111111111111111'],
  ['card', '4111 1111 1111 1111'],
  ['card', '5500-0000-0000-0004'],
  ['card', '3782 822463 10005'],
  ['card', '6222021234567890128'],
  ['iban', 'DE89370400440532013000'],
  ['iban', 'DE89 3704 0044 0532 0130 00'],
  ['iban', 'GB82 WEST 1234 5698 7654 32'],
  ['iban', 'NO9386011117947'],
  ['iban', 'MT84 MALT 0110 0001 2345 MTLC AST0 01S'],
  ['national_id', '123-45-6789'],
  ['national_id', '11010519491231002X'],
  ['national_id', '440524188001010014'],
  ['national_id', 'AB123456C'],
  ['national_id', 'AB 12 34 56 C'],
  ['national_id', '12345678Z'],
  ['national_id', 'X1234567L'],
  ['national_id', '529.982.247-25'],
  ['national_id', '2 69 05 49 588 157 80'],
  ['ip', '192.168.0.1'],
  ['ip', '2001:db8::ff00:42:8329'],
  ['ip', '::ffff:192.0.2.128'],
  ['ip', 'fe80::1'],
])('%s is found: %s', (type, value) => {
  expect(cleaned(type, value)).toBe('#')
  expect(cleaned(type, `see ${value}, and`)).toBe('see #, and')
  expect(cleaned(type, `看${value}。`)).toBe('看#。')
  expect(cleaned(type, `"${value}"\n`)).toBe('"#"\n')
})

test.each<[PiiType, string]>([
  ['email', 'react@18.2.0'],
  ['email', '@everyone'],
  ['email', 'a @ b.com'],
  ['email', 'user@localhost'],
  ['phone', '2024-01-15 10:30:00'],
  ['phone', '01-02-2024 10:30'],
  ['phone', '3.14159265358979'],
  ['phone', '1234567890123456'],
  ['phone', 'v1.2.3-rc.4'],
  ['phone', '1, 2, 3, 4, 5, 6, 7, 8, 9'],
  ['phone', 'x13800138000'],
  ['phone', '12800138000'],
  ['card', '4111111111111112'],
  ['card', '1111 1111 1111 1117'],
  ['card', '41111111111111110000'],
  ['card', '0.4111111111111111'],
  ['iban', 'DE88370400440532013000'],
  ['iban', 'This is 12 words of plain text with numbers 42 in it'],
  ['national_id', '000-45-6789'],
  ['national_id', '666-45-6789'],
  ['national_id', '900-45-6789'],
  ['national_id', '110105194912310021'],
  ['national_id', '110105194913310020'],
  ['national_id', '12345678A'],
  ['national_id', '111.111.111-11'],
  ['ip', '1.2.3'],
  ['ip', '256.1.1.1'],
  ['ip', '1.2.3.4.5'],
  ['ip', '12:30:45'],
  ['ip', 'std::vector a::b'],
])('what only looks like %s stays: %s', (type, value) => {
  expect(cleaned(type, value)).toBe(value)
  expect(cleaned(type, `see ${value} there`)).toBe(`see ${value} there`)
})

const everyType = Object.keys(piiShapes) as PiiType[]
const scraps = [
  'jane.doe@example.com',
  '4111 1111 1111 1111',
  'DE89370400440532013000',
  '10.0.0.1',
  'fe80::1',
  '123-45-6789',
  '@',
  '12',
  'word',
]
const stretch = fc
  .nat({ max: 400 })
  .map((length) => 'plain words without a mark, and more.  '.repeat(11).slice(0, length))
const longRun = fc.nat({ max: 300 }).map((length) => 'x'.repeat(length))

test('what is passed over in one long piece is what is found when the text comes character by character', () => {
  const sought = { rule: 'any', action: 'redact', replacement: '#', rank: 0 } as const
  const shapes = everyType.flatMap((type) => piiShapes[type]).map((shape) => ({ shape, sought }))
  const watch = createPatternWatch(shapes) as WatchMaker
  const scan = (pieces: Iterable<string>): string => {
    const scanner = createScanner({ watches: [watch], nfkc: false }, () => {})
    let out = ''
    for (const piece of pieces) out += scanner.push(piece)
    return out + scanner.end()
  }
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.constantFrom(...scraps), stretch, longRun), { maxLength: 8 }), (parts) => {
      const text = parts.join('')
      expect(scan([text])).toBe(scan(text))
    }),
    { seed: 13, numRuns: 300 },
  )
})
