import { describe, expect, it } from 'vitest'
import { normalisedPath } from './difference.ts'
import { shown } from './shown-value.ts'

describe('shown()', () => {
  it('tells equal values from others, and shows neither', () => {
    const [one, same, other] = ['my wish', 'my wish', 'my wisp'].map((text) => shown(text, { plain: false }))
    expect(one).toEqual({ kind: 'string', hash: expect.stringMatching(/^[0-9a-f]{12}$/), length: 7 })
    expect(same).toEqual(one)
    expect(other?.hash).not.toBe(one?.hash)
  })

  it('shows words of a protocol where a field holds those, and no data there either', () => {
    expect(shown('length', { plain: true }).value).toBe('length')
    expect(shown(12, { plain: true }).value).toBe(12)
    expect(shown(null, { plain: true }).value).toBeNull()
    for (const text of [
      'sk-abcdef0123456789abcdef',
      'a'.repeat(40),
      'Bearer abcdefghij',
      'two\nlines',
      'x'.repeat(70),
    ]) {
      expect(shown(text, { plain: true })).not.toHaveProperty('value')
    }
  })

  it.each([
    ['an address', 'write to joe.bloggs@example.com today'],
    ['a key', 'use sk-abcdef0123456789abcdef for it'],
    ['a token', 'it is eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl ok'],
    ['a number of a card', 'pay with 4111 1111 1111 1111 now'],
    ['an id', 'see 8f3c2d1e-77aa-4b6d-9e10-aabbccddeeff there'],
  ])('leaves %s out of a window, wherever the window cuts it', (_, text) => {
    for (let at = 0; at < text.length; at++) {
      const window = shown(text, { at }).window ?? ''
      expect(window.length).toBeLessThanOrEqual(24 + '[redacted]'.length)
      expect(window).not.toMatch(/joe|bloggs|example|abcdef|0123|eyJ|c2ln|4111|1111|8f3c|77aa|9e10/)
    }
  })

  it('shows a few characters of plain words around the place', () => {
    expect(shown('the quick brown fox jumps over the lazy dog', { at: 16 }).window).toBe(
      'k brown fox jumps over t'.slice(0, 24),
    )
  })

  it('hashes what is nested too deeply, too', () => {
    let deep: unknown = 1
    for (let level = 0; level < 5_000; level++) deep = [deep]
    expect(shown(deep).hash).toMatch(/^[0-9a-f]{12}$/)
  })
})

describe('normalisedPath()', () => {
  it.each([
    ['choices[0].message.tool_calls[12].id', 'choices[*].message.tool_calls[*].id'],
    ['users.8f3c2d1e77aa.name', 'users.#.name'],
    ['map.12345.x', 'map.#.x'],
    ['map.joe@x', 'map.#'],
    ['a.this key has blanks.b', 'a.#.b'],
    [`a.${'k'.repeat(41)}`, 'a.#'],
    ['headers.x-ratelimit-limit-tokens', 'headers.x-ratelimit-limit-tokens'],
    ['usage.prompt_tokens_details', 'usage.prompt_tokens_details'],
  ])('makes %s the form %s, and leaves that as it is', (path, form) => {
    expect(normalisedPath(path)).toBe(form)
    expect(normalisedPath(form)).toBe(form)
  })
})
