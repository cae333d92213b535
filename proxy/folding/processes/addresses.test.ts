import { expect, it } from 'vitest'
import { nameIn, systemLookup } from './addresses.ts'

it.each([
  ['http://gpu.example:8000/v1', 'gpu.example'],
  ['http://127.0.0.1:8000', undefined],
  ['http://[::1]:8000', undefined],
  ['https://10.0.0.7', undefined],
  ['http://localhost:8000', undefined],
])('%s is looked up under %s', (url, name) => {
  expect(nameIn(url)).toBe(name)
})

it('the addresses of a name are of one family', async () => {
  const found = await systemLookup('localhost')
  expect(found.length).toBeGreaterThan(0)
  expect(new Set(found.map((address) => address.includes(':'))).size).toBe(1)
})
