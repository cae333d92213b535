import { createHash, randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Files that the first start makes and later starts use again, readable by their owner only (0600). */
export interface FirstRun {
  readonly directory: string
  readonly signingKeyFile: string
  readonly runnerKeyFile: string
  /** The key to call the demo with, in clear, and the file of its hash. */
  readonly callerKey: string
  readonly callerHashFile: string
  /** The folder with what a runner may read, and nothing else: the caller's hash. */
  readonly secretsDirectory: string
}

/** Makes what is missing in `directory`; what is there stays. */
export function prepareFirstRun(directory: string): FirstRun {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const secret = (name: string): string => keep(join(directory, name), () => randomBytes(32).toString('base64url'))
  const callerKey = keep(join(directory, 'caller.key'), () => `fg_${randomBytes(32).toString('base64url')}`)
  const secretsDirectory = join(directory, 'secrets')
  mkdirSync(secretsDirectory, { recursive: true, mode: 0o700 })
  const callerHashFile = join(secretsDirectory, 'caller.hash')
  writeFileSync(callerHashFile, `${createHash('sha256').update(callerKey).digest('hex')}\n`, { mode: 0o600 })
  secret('signing.key')
  secret('runner.key')
  return {
    directory,
    signingKeyFile: join(directory, 'signing.key'),
    runnerKeyFile: join(directory, 'runner.key'),
    callerKey,
    callerHashFile,
    secretsDirectory,
  }
}

function keep(file: string, make: () => string): string {
  try {
    const text = readFileSync(file, 'utf8').trim()
    chmodSync(file, 0o600)
    if (text) return text
  } catch {
    // Not there yet.
  }
  const text = make()
  writeFileSync(file, `${text}\n`, { mode: 0o600 })
  return text
}
