import { expect, test } from 'vitest'
import { closest } from './closest.ts'

const keys = ['port', 'host', 'trustedProxies', 'bodyLimitBytes', 'rate-limit']

test.each([
  ['prot', 'port'],
  ['hots', 'host'],
  ['trustedProxys', 'trustedProxies'],
  ['body_limit_bytes', 'bodyLimitBytes'],
  ['ratelimit', 'rate-limit'],
  ['RATE_LIMIT', 'rate-limit'],
])('%s is near %s', (word, near) => {
  expect(closest(word, keys)).toBe(near)
})

test.each(['', 'zebra', 'x'.repeat(100_000)])('a word that is near nothing has no neighbour', (word) => {
  expect(closest(word, keys)).toBeUndefined()
})
