import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { type Fault, GatewayError, gatewayError } from '../plugins/errors.ts'
import type { Check, Notes } from './check.ts'
import { namedFiles } from './named-files.ts'
import { minKeyBytes, readNamedFile, readSecretFile, requireFile, resolveFrom } from './secret-file.ts'

/** Tries something that reads a file; what it throws becomes a fault at `path`. */
function attempt(notes: Notes, path: string, read: () => void): void {
  const message = whyNot(read)
  if (message !== undefined) notes.fault(path, message)
}

function whyNot(read: () => void): string | undefined {
  try {
    read()
    return undefined
  } catch (reason) {
    if (reason instanceof GatewayError) return reason.message
    throw reason
  }
}

const signing: Check = {
  reads: ['signing'],
  run({ signing: { keys } }, notes) {
    for (const [index, { secretFile, privateKeyFile }] of keys.entries()) {
      const path = `signing.keys[${index}]`
      if (secretFile !== null)
        attempt(notes, `${path}.secretFile`, () => readSecretFile(resolveFrom(notes.base, secretFile), minKeyBytes))
      if (privateKeyFile !== null)
        attempt(notes, `${path}.privateKeyFile`, () =>
          ed25519(resolveFrom(notes.base, privateKeyFile), createPrivateKey),
        )
    }
  },
}

const runners: Check = {
  reads: ['runners'],
  run({ runners: list }, notes) {
    for (const [index, { apiKeyFile, ackKeyFile, tls }] of list.entries()) {
      const path = `runners[${index}]`
      if (apiKeyFile !== null)
        attempt(notes, `${path}.apiKeyFile`, () => headerText(resolveFrom(notes.base, apiKeyFile)))
      if (ackKeyFile !== null)
        attempt(notes, `${path}.ackKeyFile`, () => ed25519(resolveFrom(notes.base, ackKeyFile), createPublicKey))
      secureContext(tls, `${path}.tls`, notes)
    }
  },
}

const listener: Check = {
  reads: ['listen'],
  run: ({ listen: { tls } }, notes) => {
    if (tls) secureContext(tls, 'listen.tls', notes)
  },
}

const tokens: Check = {
  reads: ['admin'],
  run({ admin }, notes) {
    for (const [index, { hashFile }] of admin.tokens.entries())
      if (hashFile !== null)
        attempt(notes, `admin.tokens[${index}].hashFile`, () => hashFromFile(resolveFrom(notes.base, hashFile)))
  },
}

/** A fault for every file that a configuration names under a key `file` or `…File` and that cannot be read. Looks at the value as written. */
export function missingFiles(value: unknown, base: string): Fault[] {
  return namedFiles(value).flatMap(({ path, file }) => {
    const message = whyNot(() => requireFile(resolveFrom(base, file)))
    return message === undefined ? [] : [{ path, message }]
  })
}

/** A SHA-256 in lower-case hex from a file. Throws `config_invalid`. */
export function hashFromFile(file: string): string {
  const hash = readSecretFile(file).toString('latin1').trim().toLowerCase()
  if (/^[0-9a-f]{64}$/.test(hash)) return hash
  throw gatewayError('config_invalid', `${file} must hold a SHA-256 as 64 hex digits`)
}

function headerText(file: string): void {
  if (/^[\x21-\x7e]+$/.test(readSecretFile(file).toString('latin1'))) return
  throw gatewayError('config_invalid', `${file} holds something that cannot stand in a header`)
}

function ed25519(file: string, make: (pem: Buffer) => KeyObject): void {
  const pem = readNamedFile(file)
  const key = keyOrNothing(() => make(pem))
  if (key?.asymmetricKeyType !== 'ed25519')
    throw gatewayError('config_invalid', `${file} must hold an Ed25519 key in PEM`)
}

function keyOrNothing(make: () => KeyObject): KeyObject | undefined {
  try {
    return make()
  } catch {
    return undefined
  }
}

interface TlsFiles {
  readonly certFile: string | null
  readonly keyFile: string | null
  readonly caFile: string | null
}

function secureContext(files: TlsFiles, path: string, notes: Notes): void {
  const read = (name: keyof TlsFiles): Buffer | undefined => {
    const file = files[name]
    let bytes: Buffer | undefined
    if (file !== null) attempt(notes, `${path}.${name}`, () => (bytes = readNamedFile(resolveFrom(notes.base, file))))
    return bytes
  }
  const [cert, key, ca] = [read('certFile'), read('keyFile'), read('caFile')]
  try {
    if (ca) new X509Certificate(ca)
    createSecureContext({ cert, key, ca })
  } catch {
    notes.fault(path, 'does not work: certificate, key and authorities must be PEM and belong together')
  }
}

/** Checks that the files a configuration names are there and hold what they should. */
export const fileChecks: readonly Check[] = [signing, runners, listener, tokens]
