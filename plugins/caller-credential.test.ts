import fc from 'fast-check'
import { expect, it } from 'vitest'
import { credentialsFromText, textFromCredentials } from './caller-credential.ts'

const names = ['authorization', 'x-api-key', 'api-key']

it('credentials arrive byte for byte as the caller sent them', () => {
  const value = fc.string({
    unit: fc.integer({ min: 1, max: 255 }).map((code) => String.fromCharCode(code)),
    minLength: 1,
  })
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...names), value), (headers) => {
      const text = textFromCredentials(headers, names)
      expect(text === undefined ? {} : credentialsFromText(text)).toEqual({ ...headers })
    }),
  )
})

it('only the named headers travel', () => {
  expect(textFromCredentials({ cookie: 'a=b', 'x-api-key': 'k' }, names)).toBe('x-api-key=:aw==:')
  expect(textFromCredentials({ cookie: 'a=b' }, names)).toBeUndefined()
})

it.each(['a', 'a=1', 'a="x"', 'a=:!:', 'a=:aw==:,', '\n', 'x'.repeat(30_000)])('%j is no credential', (text) => {
  expect(credentialsFromText(text)).toBeUndefined()
})
