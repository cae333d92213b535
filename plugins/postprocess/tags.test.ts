import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createTagFilter, type TagRules } from './tags.ts'

const rules: TagRules = { drop: ['think', 'thinking'], unwrap: ['answer'], startsInside: false }
const filtered = (pieces: readonly string[], with_: TagRules = rules): string => {
  const filter = createTagFilter(with_)
  return pieces.map((piece) => filter.push(piece)).join('') + filter.end()
}

test.each([
  ['<think>secret</think>\n\nHello', 'Hello'],
  ['<thinking>a</thinking><answer>42</answer>!', '42!'],
  ['Hello <answer>42</answer>!', 'Hello 42!'],
  ['<THINK lang="en">a</Think>b', 'b'],
  ['a <think>never ends', 'a '],
  ['stray </think> and </answer> go', 'stray  and  go'],
  ['a < b, <b>x</b>, <thinker>, <think', 'a < b, <b>x</b>, <thinker>, <think'],
  ['<think a="1" <b>', '<think a="1" <b>'],
  ['it`s <think>x</think> ok\nmore', 'it`s  ok\nmore'],
])('tags outside code are taken out: %s', (text, out) => {
  expect(filtered([text])).toBe(out)
})

test.each([
  '```xml\n<think>keep</think>\n```\n',
  'Use `<think>` and `<answer>` so.',
  '``code ` with <think> tick``',
  '  ~~~\n<think>k\n```\n</think>\n~~~\n',
  '````\n```\n<think>\n```\n````\n',
])('tags in code stay: %s', (text) => {
  expect(filtered([text])).toBe(text)
  expect(filtered([`${text}<think>x</think>`])).toBe(text)
})

test('an indented fence and an info string with backticks are no fences', () => {
  expect(filtered(['    ```\n<think>x</think>y'])).toBe('    ```\ny')
  expect(filtered(['```js``` <think>d</think>e'])).toBe('```js``` e')
})

test('an answer may begin inside the thought that its prompt has opened', () => {
  expect(filtered(['so it must be', '</think>\n', 'B'], { ...rules, startsInside: true })).toBe('B')
})

const scraps = [
  '<think>',
  '</think>',
  '<answer>',
  '</answer>',
  '<',
  '>',
  '/',
  'think',
  '`',
  '```',
  '~~~',
  '\n',
  ' ',
  'a',
  'text ',
  '<b>',
  ' x="1"',
  '\n```\n',
  '北',
]

test('the result does not depend on how the text was cut', () => {
  const text = fc.array(fc.constantFrom(...scraps), { maxLength: 20 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 6 }), (value, size) => {
      const pieces = Array.from({ length: Math.ceil(value.length / size) }, (_, i) =>
        value.slice(i * size, (i + 1) * size),
      )
      expect(filtered(pieces)).toBe(filtered([value]))
    }),
    { seed: 42, numRuns: 2000 },
  )
})

test('what is held back has a bound, and thoughts take no memory', () => {
  const filter = createTagFilter(rules)
  let given = 0
  let left = 0
  for (const piece of ['`<think', ' a'.repeat(500), '<answer ', 'x'.repeat(500)]) {
    for (const unit of piece) {
      given++
      left += filter.push(unit).length
      expect(given - left).toBeLessThanOrEqual(300)
    }
  }
})

test('many brackets take linear time', () => {
  const start = performance.now()
  filtered([`\`${'<think>'.repeat(30_000)}`])
  filtered(['<'.repeat(200_000)])
  filtered('`<a>'.repeat(50_000).match(/.{1,5}/gs) as string[])
  expect(performance.now() - start).toBeLessThan(4000)
})
