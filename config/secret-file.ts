import { accessSync, constants, readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { GatewayError, gatewayError } from '../plugins/errors.ts'

/** The fewest bytes that a signing key may have: 256 bits. */
export const minKeyBytes = 32

/** The largest file that is read in whole, in bytes. */
const maxFileBytes = 4_194_304

/** A path as the configuration writes it, resolved against the directory of the configuration file. */
export function resolveFrom(base: string, path: string): string {
  return resolve(base, path)
}

/** Checks that a file named in the configuration is there and may be read. Throws `config_invalid` naming it. */
export function requireFile(path: string): void {
  reading(path, () => accessSync(path, constants.R_OK))
}

/** A file named in the configuration, as bytes. Throws `config_invalid` naming the file, never its content. */
export function readNamedFile(path: string): Buffer {
  return reading(path, (size) => {
    if (size > maxFileBytes) throw gatewayError('config_invalid', `${path} is larger than ${maxFileBytes} bytes`)
    return readFileSync(path)
  })
}

function reading<T>(path: string, read: (size: number) => T): T {
  try {
    const stat = statSync(path)
    if (!stat.isFile()) throw gatewayError('config_invalid', `${path} is not a file`)
    return read(stat.size)
  } catch (reason) {
    if (reason instanceof GatewayError) throw reason
    const { code } = reason as NodeJS.ErrnoException
    const why =
      code === 'ENOENT' ? 'does not exist' : code === 'EACCES' ? 'may not be read by this user' : 'cannot be read'
    throw gatewayError('config_invalid', `${path} ${why}`, { cause: reason })
  }
}

/**
 * A secret from a file: its bytes with one trailing newline trimmed. Throws `config_invalid` when it has fewer than `minBytes`,
 * by default 1.
 */
export function readSecretFile(path: string, minBytes = 1): Buffer {
  const bytes = readNamedFile(path)
  const secret = bytes.subarray(0, bytes.length - trailingNewline(bytes))
  if (secret.length >= minBytes) return secret
  throw gatewayError('config_invalid', `${path} holds ${secret.length} bytes; at least ${minBytes} are needed`)
}

function trailingNewline(bytes: Buffer): number {
  if (bytes.at(-1) !== 0x0a) return 0
  return bytes.at(-2) === 0x0d ? 2 : 1
}
