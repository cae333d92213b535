import { describe, expect, test } from 'vitest'
import { builtInHooks, type Hook, hookFromReplacements } from './hooks.ts'

const named = (name: string): Hook => builtInHooks[name] as Hook

describe('normalize_numbers', () => {
  test.each([
    ['1,000.50 and 1000.5', '1000.5 and 1000.5'],
    ['it is 3.0.', 'it is 3.'],
    ['１２３元', '123元'],
    ['价格1.0元', '价格1元'],
    ['1,000,000!', '1000000!'],
  ])('%s becomes %s', (text, want) => expect(named('normalize_numbers')(text)).toBe(want))

  test.each(['v1.10', '1.2.10', '10.0.0.1', '007', '1,2,3', 'a1.0b', 'x_1.0', '12,34'])('%s stays', (text) => {
    expect(named('normalize_numbers')(text)).toBe(text)
  })
})

test('normalize_whitespace makes every run one space and leaves none at the ends', () => {
  expect(named('normalize_whitespace')(' a\t\nb\u3000 c ')).toBe('a b c')
})

test.each([
  ['why?!', 'why'],
  ['好吗？ 。', '好吗'],
  ['f(x)', 'f(x)'],
  ['...', ''],
  ['a.b', 'a.b'],
])('strip_trailing_punctuation makes %j %j', (text, want) => {
  expect(named('strip_trailing_punctuation')(text)).toBe(want)
})

test('a hook of the operator runs its rules in order, with groups', () => {
  const hook = hookFromReplacements([
    { pattern: 'order (\\d+)', replacement: 'order #$1', ignoreCase: true },
    { pattern: '#\\d+', replacement: '#' },
  ])
  expect(hook('ORDER 12, please')).toBe('order #, please')
})

test('no text makes a hook slow, whatever the pattern', () => {
  const nested = hookFromReplacements([{ pattern: '(a+)+$', replacement: 'x' }])
  const start = performance.now()
  nested(`${'a'.repeat(50_000)}!`)
  for (const name of Object.keys(builtInHooks)) {
    named(name)('1,'.repeat(100_000))
    named(name)(`${'.'.repeat(200_000)}x`)
    named(name)(`${' '.repeat(200_000)}x`)
  }
  expect(performance.now() - start).toBeLessThan(2_000)
})
