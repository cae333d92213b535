import { expect, test } from 'vitest'
import { addressFromUrl } from './address.ts'

test.each([
  ['redis://cache', { host: 'cache', port: 6379, db: 0, tls: false }],
  ['redis://cache:7000/12', { host: 'cache', port: 7000, db: 12, tls: false }],
  ['rediss://[::1]:6380', { host: '::1', port: 6380, db: 0, tls: true }],
  ['redis://me:p%40ss%25@cache', { host: 'cache', port: 6379, db: 0, tls: false, username: 'me', password: 'p@ss%' }],
  ['redis://:100%@cache', { host: 'cache', port: 6379, db: 0, tls: false, password: '100%' }],
])('%s is taken apart', (url, address) => {
  expect(addressFromUrl(url)).toEqual(address)
})

test.each(['redis://', 'http://:secret@cache', 'redis://:secret@cache/zero', 'redis://:secret@cache:99999', ':secret'])(
  '%s is refused without being quoted',
  (url) => {
    expect(() => addressFromUrl(url)).toThrow(expect.objectContaining({ code: 'config_invalid' }))
    expect(() => addressFromUrl(url)).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('secret') }),
    )
  },
)
