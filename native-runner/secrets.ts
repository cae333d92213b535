import { createPrivateKey, hkdfSync, randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { readSecretFile } from '../config/secret-file.ts'
import { gatewayError, gatewayErrorFrom } from '../plugins/errors.ts'
import type { VerifyingKey } from '../plugins/jws-key.ts'

/** The secrets that steps name. */
export interface SecretsFolder {
  /** Whether a secret of this bare name is there. */
  has(name: string): boolean
  /** Its bytes, without one trailing line end. Throws `config_invalid` naming it. */
  file(name: string): Buffer
}

/** Reads secrets from one folder, by bare names only: whoever writes a step never reaches outside. Without a folder there are none. */
export function createSecretsFolder(folder: string | undefined): SecretsFolder {
  const pathOf = (name: string): string | undefined =>
    folder !== undefined && /^(?!\.{1,2}$)[^/\\\0]{1,255}$/.test(name) ? join(folder, name) : undefined
  return {
    has(name) {
      const path = pathOf(name)
      try {
        return path !== undefined && statSync(path).isFile()
      } catch {
        return false
      }
    },
    file(name) {
      const path = pathOf(name)
      if (path === undefined)
        throw gatewayError('config_invalid', `secret ${JSON.stringify(name)} is no bare file name`)
      try {
        return readSecretFile(path)
      } catch (cause) {
        // A step's author is told the name, not where the folder lies.
        const why = gatewayErrorFrom(cause).message.replace(path, '').trim()
        throw gatewayError('config_invalid', `secret ${JSON.stringify(name)} ${why}`, { cause })
      }
    },
  }
}

/**
 * Secrets of this side, each for one purpose (HKDF-SHA-256, RFC 5869): from the first shared HS256 key, else the private key of
 * acknowledgements, never from a public one. Without either they hang on bytes drawn at the start.
 */
export function createDerivedSecrets(
  keys: readonly VerifyingKey[],
  ackKey: string | Buffer | undefined,
): (purpose: string) => Buffer {
  const shared = keys.find(({ alg }) => alg === 'HS256')
  if (shared) return (purpose) => shared.derive(`runner/${purpose}`)
  const root =
    ackKey === undefined ? randomBytes(32) : createPrivateKey(ackKey).export({ type: 'pkcs8', format: 'der' })
  return (purpose) => Buffer.from(hkdfSync('sha256', root, 'foldgate', `runner/${purpose}`, 32))
}
