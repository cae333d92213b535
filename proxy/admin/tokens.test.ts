import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createTempDir } from '../../test/support/temp-dir.ts'
import { findToken, tokensFromConfig } from './tokens.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

const admin = (tokens: { name: string; hash?: string; hashFile?: string }[]) => ({
  host: '127.0.0.1',
  port: 0,
  allowedHosts: [],
  tokens: tokens.map((token) => ({ role: 'viewer' as const, hash: null, hashFile: null, ...token })),
})

test('tokens are known by hashes from the configuration and from files beside it', async () => {
  await using dir = createTempDir()
  writeFileSync(dir.file('b.hash'), `${sha256('token-b').toUpperCase()}\n`)
  const tokens = tokensFromConfig(
    admin([
      { name: 'a', hash: sha256('token-a') },
      { name: 'b', hashFile: 'b.hash' },
    ]),
    dir.path,
  )
  expect(findToken(tokens, 'token-a')?.name).toBe('a')
  expect(findToken(tokens, 'token-b')?.name).toBe('b')
  expect(findToken(tokens, sha256('token-a'))).toBeUndefined()
  expect(findToken(tokens, '')).toBeUndefined()
})

test('a file that holds the token instead of its hash is a fault that does not repeat it', async () => {
  await using dir = createTempDir()
  writeFileSync(dir.file('a.hash'), 'the-token-itself\n')
  const read = () => tokensFromConfig(admin([{ name: 'a', hashFile: 'a.hash' }]), dir.path)
  expect(read).toThrow(/must hold a SHA-256/)
  expect(read).not.toThrow(/the-token-itself/)
})
