import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Principal } from '../call.ts'
import { sha256 } from '../canonical.ts'
import type { ApiKeyConfig } from './config-callers.ts'
import type { FaultList } from './faults.ts'
import { withoutNewline } from './keys.ts'

/** A new API key: what its holder is given, and what the configuration keeps of it. */
export interface ApiKeyPair {
  /** `fg_` and 256 random bits in base64url. */
  readonly key: string
  /** SHA-256 of the key, in hex. */
  readonly hash: string
}

/** Makes an API key. The key is not kept anywhere. */
export function createApiKey(): ApiKeyPair {
  const key = `fg_${randomBytes(32).toString('base64url')}`
  return { key, hash: sha256(key) }
}

/** The API keys of a configuration. */
export interface ApiKeys {
  readonly size: number
  /** Whose key has this SHA-256 (lower-case hex). */
  find(hash: string): Principal | undefined
}

interface Known {
  readonly digest: Buffer
  readonly principal: Principal
}

/** The API keys by their hashes. A hash that is missing, malformed or there twice becomes a fault. */
export function apiKeysFromConfig(
  entries: readonly ApiKeyConfig[],
  file: (path: string) => Buffer,
  faults: FaultList,
): ApiKeys {
  const known = new Map<string, Known>()
  for (const [index, entry] of entries.entries()) {
    const path = `apiKeys[${index}]`
    const hash = hashOf(entry, path, { file, faults })
    if (hash === undefined) continue
    if (known.has(hash)) faults.add(path, 'is the same key as another entry')
    const { id, tenant, tier, scopes, claims } = entry
    const principal: Principal = { id, tenant, tier, scopes, claims, method: 'api-key' }
    known.set(hash, { digest: Buffer.from(hash, 'hex'), principal })
  }
  return {
    size: known.size,
    find(hash) {
      const entry = known.get(hash)
      // Finding a hash tells nothing about the key; the comparison itself still takes the same time for every key.
      return entry && timingSafeEqual(entry.digest, Buffer.from(hash, 'hex')) ? entry.principal : undefined
    },
  }
}

interface Reading {
  readonly file: (path: string) => Buffer
  readonly faults: FaultList
}

function hashOf(entry: ApiKeyConfig, path: string, { file, faults }: Reading): string | undefined {
  const { hash, hashFile } = entry
  if ((hash === null) === (hashFile === null)) {
    faults.add(path, 'name exactly one of hash and hashFile')
    return undefined
  }
  const where = `${path}.${hash === null ? 'hashFile' : 'hash'}`
  const text = hash ?? faults.attempt(where, () => withoutNewline(file(hashFile as string)).toString('latin1'))
  if (text === undefined) return undefined
  if (/^[0-9a-f]{64}$/i.test(text)) return text.toLowerCase()
  faults.add(where, 'must be a SHA-256 as 64 hex digits')
  return undefined
}
