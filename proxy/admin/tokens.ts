import { createHash, timingSafeEqual } from 'node:crypto'
import type { AdminConfig, AdminRole } from '../../config/admin.ts'
import { hashFromFile } from '../../config/check-files.ts'
import { resolveFrom } from '../../config/secret-file.ts'

/** A token as it is kept: who holds it, what they may, and its SHA-256. */
export interface AdminToken {
  readonly name: string
  readonly role: AdminRole
  readonly digest: Buffer
}

/** The tokens of a configuration with their hash files read, relative to `base`. Throws `config_invalid`. */
export function tokensFromConfig(config: AdminConfig, base: string): AdminToken[] {
  return config.tokens.map(({ name, role, hash, hashFile }) => {
    const hex = hash ?? hashFromFile(resolveFrom(base, hashFile ?? ''))
    return { name, role, digest: Buffer.from(hex, 'hex') }
  })
}

/** Whose token was presented. Every token is compared, each in constant time, so that the answer takes equally long for all. */
export function findToken(tokens: readonly AdminToken[], presented: string): AdminToken | undefined {
  const digest = createHash('sha256').update(presented).digest()
  let found: AdminToken | undefined
  for (const token of tokens) if (timingSafeEqual(token.digest, digest)) found = token
  return found
}
