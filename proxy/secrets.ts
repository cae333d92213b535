import { hkdfSync, randomBytes } from 'node:crypto'
import type { SigningConfig } from '../config/sections.ts'

/**
 * Secrets of this side, each for one purpose, derived (HKDF-SHA-256, RFC 5869) from the active signing key. Without a key they
 * hang on bytes drawn when the process starts: good for one process, not shared with its replicas.
 */
export function createSecrets(
  signing: SigningConfig,
  secretFile: (path: string) => Buffer,
): (purpose: string) => Buffer {
  const active = signing.keys.find(({ kid }) => kid === signing.active) ?? signing.keys[0]
  const path = active?.secretFile ?? active?.privateKeyFile
  const root = path ? secretFile(path) : ownRoot
  return (purpose) => Buffer.from(hkdfSync('sha256', root, 'foldgate', `gateway/${purpose}`, 32))
}

const ownRoot = randomBytes(32)
