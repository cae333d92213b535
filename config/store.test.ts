import { expect, test } from 'vitest'
import { storeSchema } from './store.ts'

test('an empty section is the embedded store, with every default filled in', () => {
  expect(storeSchema.parse({})).toEqual({
    kind: 'embedded',
    maxBytes: 268_435_456,
    onLoss: 'local',
    commandTimeoutMs: 150,
    connectTimeoutMs: 1000,
  })
})

test('redis needs to know where it is: by url, sentinels or cluster nodes', () => {
  expect(storeSchema.faults({ kind: 'redis' }).map((fault) => fault.path)).toContain('url')
  const urls = ['redis://a:26379']
  const sections = [{ url: 'rediss://:pw@a:6380/2' }, { sentinel: { name: 'm', urls } }, { cluster: urls }]
  for (const section of sections) expect(storeSchema.faults({ kind: 'redis', ...section })).toEqual([])
})

test('what is not known or not possible is named with its path', () => {
  const paths = (value: object) => storeSchema.faults(value).map((fault) => fault.path)
  expect(paths({ kind: 'redis', url: 'http://a' })).toEqual(['url'])
  expect(paths({ onLoss: 'maybe', sentinel: { urls: [] }, port: 1 }).toSorted()).toEqual(
    ['onLoss', 'port', 'sentinel.name', 'sentinel.urls'].toSorted(),
  )
})
