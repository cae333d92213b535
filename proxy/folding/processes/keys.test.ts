import { generateKeyPairSync } from 'node:crypto'
import { expect, it } from 'vitest'
import type { RunnerConfig } from '../../../config/runners.ts'
import { ackKeys, activeKey } from './keys.ts'

const pair = generateKeyPairSync('ed25519')
const files: Readonly<Record<string, Buffer>> = {
  k1: Buffer.alloc(32, 1),
  k2: Buffer.from(pair.privateKey.export({ type: 'pkcs8', format: 'pem' })),
  pub: Buffer.from(pair.publicKey.export({ type: 'spki', format: 'pem' })),
}
const read = { file: (path: string) => files[path] as Buffer, secretFile: (path: string) => files[path] as Buffer }
const keys = [
  { kid: 'k1', alg: 'HS256', secretFile: 'k1', privateKeyFile: null },
  { kid: 'k2', alg: 'EdDSA', secretFile: null, privateKeyFile: 'k2' },
] as const

it('the active key signs, else the first', () => {
  expect(activeKey({ keys, active: 'k2' }, read)).toMatchObject({ kid: 'k2', alg: 'EdDSA' })
  expect(activeKey({ keys, active: null }, read)).toMatchObject({ kid: 'k1', alg: 'HS256' })
  expect(activeKey({ keys: [], active: null }, read)).toBeUndefined()
})

it('a runner with a key of its own is known by the public half', () => {
  const runners = [
    { name: 'gpu-a', ackKeyFile: 'pub' },
    { name: 'gpu-b', ackKeyFile: null },
  ] as unknown as RunnerConfig[]
  const known = ackKeys(runners, read)
  expect([...known.keys()]).toEqual(['gpu-a'])
  const signature = activeKey({ keys, active: 'k2' }, read)?.sign('x', 'base64') ?? ''
  expect(known.get('gpu-a')?.verify('x', Buffer.from(signature, 'base64'))).toBe(true)
})
