import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createCustomWatch } from './custom-watch.ts'
import { createPatternWatch } from './pattern-watch.ts'
import { createPhraseWatch } from './phrase-watch.ts'
import { type PiiType, piiShapes } from './pii.ts'
import { type Action, createScanner, type ScanPlan, type Sought, type WatchMaker } from './scanner.ts'

let rank = 0
const sought = (rule: string, action: Action = 'redact'): Sought => ({
  rule,
  action,
  replacement: `[${rule}]`,
  rank: rank++,
})
const phrases = (
  list: readonly string[],
  semantics: 'literal/1' | 'literal-ascii-ci/1' = 'literal-ascii-ci/1',
): WatchMaker =>
  createPhraseWatch(
    list.map((phrase) => ({ phrase, sought: sought('phrase') })),
    semantics,
  ) as WatchMaker
const shapes = (...types: PiiType[]): WatchMaker =>
  createPatternWatch(
    types.flatMap((type) => piiShapes[type].map((shape) => ({ shape, sought: sought(type) }))),
  ) as WatchMaker
const custom = (pattern: string, maxMatch: number): WatchMaker =>
  createCustomWatch({ pattern, maxMatch, sought: sought('own') })

const scan = (plan: ScanPlan, pieces: readonly string[], onFind: (sought: Sought) => void = () => {}): string[] => {
  const scanner = createScanner(plan, onFind)
  return [...pieces.map((piece) => scanner.push(piece)), scanner.end()]
}
const whole = (plan: ScanPlan, text: string): string => scan(plan, [text]).join('')
const plain = (watches: WatchMaker[]): ScanPlan => ({ watches, nfkc: false })
const shadow = (watches: WatchMaker[]): ScanPlan => ({ watches, nfkc: true })

const everything = [
  phrases(['foo', 'foo bar', 'bar baz', 'aab', '北京🙂', 'secret']),
  shapes('email', 'card', 'iban', 'national_id', 'phone', 'ip'),
  custom('EMP-\\d{4}', 8),
  custom('\\b[xy]{2,5}\\b', 5),
]
const scraps = [
  'foo',
  ' bar',
  ' baz',
  'aa',
  'ab',
  '北京',
  '🙂',
  'ｆｏｏ',
  's\u200becret',
  'e\u0301',
  'john',
  '.doe',
  '@',
  'example',
  '.com',
  '4111',
  ' 1111',
  '-1111',
  '4111111111111111',
  '+86 ',
  '138',
  '0013',
  '8000',
  '110105194912310',
  '02X',
  'DE89',
  ' 3704',
  ' 0044',
  ' 0532',
  ' 0130',
  ' 00',
  '123-45',
  '-6789',
  '10.0',
  '.0.1',
  'fe80',
  '::',
  '1',
  ' ',
  '\n',
  '，',
  'EMP',
  '-12',
  '34',
  'xyx',
  'y',
  '(',
  ')',
  '.',
  ':',
  '\ud83d',
  '\ude42',
]
const text = fc.array(fc.constantFrom(...scraps), { maxLength: 24 }).map((parts) => parts.join(''))

/** A text and the same in pieces, cut between any two units. */
const cutText = text.chain((value) =>
  fc.array(fc.nat({ max: Math.max(0, value.length) }), { maxLength: 12 }).map((cuts) => {
    const at = [0, ...cuts.sort((a, b) => a - b), value.length]
    return { value, pieces: at.slice(1).map((to, i) => value.slice(at[i], to)) }
  }),
)

test.each([
  ['as it is', plain(everything)],
  ['in its NFKC shadow', shadow(everything)],
])('the result does not depend on how the text was cut: %s', (_name, plan) => {
  fc.assert(
    fc.property(cutText, ({ value, pieces }) => {
      expect(scan(plan, pieces).join('')).toBe(whole(plan, value))
      expect(scan(plan, value.split('')).join('')).toBe(whole(plan, value))
    }),
    { seed: 42, numRuns: 600 },
  )
})

test('text without finds leaves as it came, and no surrogate pair is cut', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme', maxLength: 6 }), { maxLength: 20 }), (pieces) => {
      for (const plan of [plain([phrases(['zzzz'])]), shadow([phrases(['zzzz'])])]) {
        const out = scan(plan, pieces)
        expect(out.join('')).toBe(pieces.join(''))
        for (const piece of out) expect(piece.isWellFormed()).toBe(true)
      }
    }),
    { seed: 42, numRuns: 300 },
  )
})

test('only what may become a find is held back', () => {
  const plan = plain([phrases(['secret sauce']), shapes('email', 'card')])
  expect(scan(plan, ['The ', 'sec', 'tor, ', 'it ', 'is ', 'secret', ' sauce', '!'])).toEqual([
    'The ',
    '',
    'sector, ',
    'it ',
    'is ',
    '',
    '[phrase]',
    '!',
    '',
  ])
  expect(scan(plan, ['Hello', ', write to jo', 'e@x', '.org', ' now'])).toEqual([
    '',
    'Hello, write to ',
    '',
    '',
    '[email] ',
    'now',
  ])
})

test.each([
  ['phrases', () => [phrases(['abcdefgh'])], 7, 'abcdefg'.repeat(100)],
  ['email without @', () => [shapes('email')], 65, 'a'.repeat(1000)],
  ['email', () => [shapes('email')], 255, `a@${'b'.repeat(1000)}`],
  ['card', () => [shapes('card')], 24, '4111 '.repeat(200)],
  ['iban', () => [shapes('iban')], 43, 'DE89 3704 '.repeat(100)],
  ['phone', () => [shapes('phone')], 33, '+1 2 '.repeat(200)],
  ['a pattern of its own', () => [custom('[a-z]+9', 100)], 100 + 12, 'a'.repeat(1000)],
  ['a pattern that begins with a literal', () => [custom('sk-[a-z]+9', 100)], 100 + 12, `sk-${'a'.repeat(1000)}`],
])('what is held back has a bound: %s', (_name, watches, bound, value) => {
  const scanner = createScanner(plain(watches()), () => {})
  let given = 0
  let left = 0
  let most = 0
  for (const unit of value) {
    given += unit.length
    left += scanner.push(unit).length
    most = Math.max(most, given - left)
  }
  expect(most).toBeLessThanOrEqual(bound)
  expect(left + scanner.end().length).toBe(value.length)
})

test('a pattern that begins with a literal holds nothing back elsewhere', () => {
  expect(scan(plain([custom('sk-[a-z]{4,}', 20)]), ['no s', 'uch thing'])).toEqual(['no ', 'such thing', ''])
})

test('finds that overlap become one gap, named after the first', () => {
  expect(whole(plain([phrases(['foo bar', 'bar baz'])]), 'a foo bar baz b')).toBe('a [phrase] b')
  const plan = plain([phrases(['me@x'], 'literal/1'), shapes('email')])
  expect(whole(plan, 'some@x.org')).toBe('[email]')
})

test('a longer match of an own pattern is covered piece by piece', () => {
  expect(whole(plain([custom('a+', 4)]), `b${'a'.repeat(10)}b`)).toBe('b[own][own][own]b')
})

test('literal/1 minds case, literal-ascii-ci/1 minds it beyond ASCII only', () => {
  expect(whole(plain([phrases(['Foo'], 'literal/1')]), 'foo Foo')).toBe('foo [phrase]')
  expect(whole(plain([phrases(['fÖo'])]), 'FÖO fÖo FöO')).toBe('[phrase] [phrase] FöO')
})

test('the shadow sees through full-width, zero-width and decomposed spellings, and the original leaves', () => {
  const plan = shadow([phrases(['secret', 'café', 'office']), shapes('phone', 'email')])
  expect(whole(plan, 'a ｓｅｃｒｅｔ b')).toBe('a [phrase] b')
  expect(whole(plan, 's\u200be\u2060cr\u00adet!')).toBe('[phrase]!')
  expect(whole(plan, 'cafe\u0301 and cafe, o\ufb03ce')).toBe('[phrase] and cafe, [phrase]')
  expect(whole(plan, '电话１３８００１３８０００。')).toBe('电话[phone]。')
  expect(whole(plan, 'ｊoe＠x.org')).toBe('[email]')
  expect(whole(plan, 'Ｈｅｌｌｏ ① \u200d👩‍👩‍👧')).toBe('Ｈｅｌｌｏ ① \u200d👩‍👩‍👧')
})

test('a block is heard before any of its text leaves', () => {
  const block = createPhraseWatch([{ phrase: 'stop here', sought: sought('rule', 'block') }], 'literal/1') as WatchMaker
  const left: string[] = []
  const scanner = createScanner(plain([block]), ({ rule }) => {
    throw new Error(rule)
  })
  expect(() => {
    for (const piece of ['go on, st', 'op he', 're']) left.push(scanner.push(piece))
  }).toThrow('rule')
  expect(left.join('')).toBe('go on, ')
})

test.each([
  ['email', () => [shapes('email')], 'a@'.repeat(50_000)],
  ['email, one long word', () => [shapes('email')], `${'a'.repeat(100_000)}@`],
  ['phone', () => [shapes('phone')], '+1-'.repeat(40_000)],
  ['phone, digits', () => [shapes('phone')], '1 '.repeat(50_000)],
  ['everything', () => everything, '4111 1111 1111 111 a@b.c '.repeat(4_000)],
  ['an evil pattern', () => [custom('(a+)+b', 64)], 'a'.repeat(100_000)],
  ['phrases', () => [phrases(['aaaaaaaaaaaaaaaab', 'aaaaaaab'])], 'a'.repeat(100_000)],
])('input made to be slow takes linear time: %s', (_name, watches, value) => {
  const start = performance.now()
  for (const pieces of [[value], value.match(/.{1,7}/gs) as string[]]) {
    expect(scan(plain(watches()), pieces).join('').length).toBeGreaterThan(0)
  }
  expect(performance.now() - start).toBeLessThan(3000)
})

test('memory stays flat over a long text', () => {
  const scanner = createScanner(shadow(everything), () => {})
  let longest = 0
  for (let i = 0; i < 20_000; i++) longest = Math.max(longest, scanner.push('words go on and on, ').length)
  expect(longest).toBeLessThan(200)
})
