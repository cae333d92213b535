import { createPrivateKey, createPublicKey } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ed25519Pem, pairKey, secretKey } from '../plugins/execution-context.support.ts'
import { createTempDir, type TempDir } from '../test/support/temp-dir.ts'
import type { ExecutionOptions } from './execution-options.ts'
import { runnerFromArguments } from './flags.ts'

const spki = { type: 'spki', format: 'pem' } as const
const pem = ed25519Pem(3)

/** Files of every kind of key. */
function keys(): TempDir {
  const dir = createTempDir()
  writeFileSync(dir.file('secret'), `${'\x01'.repeat(32)}\n`)
  writeFileSync(dir.file('short'), 'short')
  writeFileSync(dir.file('private'), pem)
  writeFileSync(dir.file('public'), createPublicKey(createPrivateKey(pem)).export(spki))
  return dir
}

const executionFrom = (...args: string[]): ExecutionOptions | undefined => {
  const found = runnerFromArguments(['--engine', 'echo', ...args])
  return found === 'help' ? undefined : found.execution
}

describe('the flags of execution', () => {
  it('a key is a secret or a public key, as its file says', async () => {
    await using dir = keys()
    const [secret, pair] = [`k1=${dir.file('secret')}`, `p1=${dir.file('public')}`]
    const found = executionFrom('--key', secret, '--key', pair, '--ack-key', dir.file('private'))
    expect(found?.keys?.map(({ kid, alg }) => [kid, alg])).toEqual([
      ['k1', 'HS256'],
      ['p1', 'EdDSA'],
    ])
    const signed = (by: ReturnType<typeof secretKey>) => Buffer.from(by.sign('x', 'base64'), 'base64')
    expect(found?.keys?.[0]?.verify('x', signed(secretKey('k1', 1)))).toBe(true)
    expect(found?.keys?.[1]?.verify('x', signed(pairKey('p1', 3)))).toBe(true)
    expect(found?.ackKey?.toString()).toBe(pem.trimEnd())
  })

  it('policies are kept in the cache folder unless told otherwise', async () => {
    await using dir = keys()
    const key = ['--key', `k1=${dir.file('secret')}`]
    expect(executionFrom(...key)?.policyDir).toMatch(/policies$/)
    const told = executionFrom(...key, '--policy-dir', 'p', '--secrets-dir', 's', '--egress', 'a', '--egress', 'b:1')
    expect(told).toMatchObject({ policyDir: 'p', secretsDir: 's', egress: ['a', 'b:1'] })
    const shared = executionFrom(...key, '--store', 'redis://r:6379', '--allow-plain')
    expect(shared).toMatchObject({ store: { kind: 'redis', url: 'redis://r:6379' }, allowPlain: true })
    expect(executionFrom()).toBeUndefined()
  })

  it.each<[readonly string[], RegExp]>([
    [['--egress', 'h'], /--egress needs --key/],
    [['--allow-plain'], /--allow-plain needs --key/],
    [['--key', 'nameless'], /--key reads KID=FILE/],
    [['--key', 'k1=/does/not/exist'], /--key: \/does\/not\/exist does not exist/],
    [['--key', 'k1=SHORT'], /--key: .*at least 32/],
    [['--key', 'k 1=SECRET'], /--key: a kid has/],
    [['--key', 'k1=PRIVATE'], /is a private key/],
    [['--key', 'k1=SECRET', '--key', 'k1=SECRET'], /--key: two keys have the same kid/],
    [['--key', 'p1=PUBLIC'], /--ack-key: key "p1" is public/],
    [['--key', 'p1=PUBLIC', '--ack-key', 'SECRET'], /--ack-key: .*not an Ed25519 key/],
    [['--key', 'k1=SECRET', '--egress', 'http://h/'], /--egress: an egress host/],
    [['--key', 'k1=SECRET', '--store', 'http://user:word@h'], /--store: url: must match/],
    [['--key', 'k1=SECRET', '--allow-plain', '--host', '0.0.0.0'], /--allow-plain needs --host/],
  ])('%j is refused', async (args, why) => {
    await using dir = keys()
    const named = args.map((arg) => arg.replace(/SECRET|SHORT|PRIVATE|PUBLIC/, (name) => dir.file(name.toLowerCase())))
    expect(() => executionFrom(...named)).toThrow(why)
  })
})
