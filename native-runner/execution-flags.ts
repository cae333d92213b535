import { createPublicKey } from 'node:crypto'
import { join } from 'node:path'
import { isLoopback } from '../config/loopback.ts'
import { readSecretFile } from '../config/secret-file.ts'
import { type StoreConfig, storeSchema } from '../config/store.ts'
import { createKeyRing, createVerifyingKey, type VerifyingKey } from '../plugins/jws-key.ts'
import { createAcknowledgementKeys } from './acknowledgement-keys.ts'
import { createEgress } from './egress.ts'
import type { ExecutionOptions } from './execution-options.ts'
import { defaultCacheFolder } from './fetching/cache-folder.ts'
import { refusal } from './refusal.ts'

/** The flags of execution, as `parseArgs` takes them. */
export const executionFlags = {
  key: { type: 'string', multiple: true },
  'ack-key': { type: 'string' },
  'secrets-dir': { type: 'string' },
  egress: { type: 'string', multiple: true },
  store: { type: 'string' },
  'policy-dir': { type: 'string' },
  'allow-plain': { type: 'boolean' },
} as const

/** Their values. */
export interface ExecutionFlags {
  readonly key?: readonly string[] | undefined
  readonly 'ack-key'?: string | undefined
  readonly 'secrets-dir'?: string | undefined
  readonly egress?: readonly string[] | undefined
  readonly store?: string | undefined
  readonly 'policy-dir'?: string | undefined
  readonly 'allow-plain'?: boolean | undefined
}

/** What flags ask of execution; undefined without any. Throws `invalid_value` naming the flag at fault. */
export function executionFromFlags(flags: ExecutionFlags, host: string | undefined): ExecutionOptions | undefined {
  const given = (Object.keys(executionFlags) as (keyof ExecutionFlags)[]).filter((name) => flags[name] !== undefined)
  if (given.length === 0) return undefined
  if (flags.key === undefined) throw refusal('invalid_value', `--${given[0]} needs --key`)
  if (flags['allow-plain'] && host !== undefined && !isLoopback(host))
    throw refusal('invalid_value', '--allow-plain needs --host to be a loopback address')
  const keys = flags.key.map(keyFrom)
  const ackKey = flags['ack-key'] === undefined ? undefined : saying('--ack-key', () => bytesOf(flags['ack-key']))
  saying('--key', () => createKeyRing(keys))
  saying('--ack-key', () => createAcknowledgementKeys(keys, ackKey))
  saying('--egress', () => createEgress(flags.egress ?? []))
  return {
    keys,
    ...(ackKey ? { ackKey } : {}),
    ...(flags['secrets-dir'] === undefined ? {} : { secretsDir: flags['secrets-dir'] }),
    ...(flags.egress ? { egress: flags.egress } : {}),
    ...(flags.store === undefined ? {} : { store: storeFrom(flags.store) }),
    policyDir: flags['policy-dir'] ?? join(defaultCacheFolder(), 'policies'),
    ...(flags['allow-plain'] ? { allowPlain: true } : {}),
  }
}

/** What a key is its content tells: a public key says so in PEM, anything else is a secret. */
function keyFrom(text: string): VerifyingKey {
  const at = text.indexOf('=')
  if (at <= 0) throw refusal('invalid_value', `--key reads KID=FILE, not ${JSON.stringify(text)}`)
  const [kid, path] = [text.slice(0, at), text.slice(at + 1)]
  return saying('--key', () => {
    const bytes = bytesOf(path)
    if (!bytes.includes('-----BEGIN')) return createVerifyingKey({ kid, alg: 'HS256', secret: bytes })
    if (bytes.includes('PRIVATE KEY'))
      throw refusal('invalid_value', `${path} is a private key; a runner is given the public one`)
    return createVerifyingKey({ kid, alg: 'EdDSA', publicKey: createPublicKey(bytes).export(spki) })
  })
}
const spki = { type: 'spki', format: 'pem' } as const

function storeFrom(url: string): StoreConfig {
  return saying('--store', () => storeSchema.parse({ kind: 'redis', url }))
}

function bytesOf(path: string | undefined): Buffer {
  return readSecretFile(path ?? '')
}

function saying<T>(flag: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : 'cannot be'
    throw refusal('invalid_value', `${flag}: ${why}`, { cause })
  }
}
