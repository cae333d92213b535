import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { LoadedConfig } from '../../config/load.ts'
import { readSecretFile } from '../../config/secret-file.ts'
import { gatewayError } from '../../plugins/errors.ts'
import type { Seat } from '../../plugins/host.ts'
import { createInsideDigest } from '../../plugins/inside-digest.ts'
import { createTrialHost } from './trial.ts'

/** What a runner is started with, as far as rules depend on it. */
export interface SeatSettings {
  /** Whether it opens connections to a URL's host. */
  allows(url: string): boolean
  /** The folder of the secrets that rules name; undefined: there are none. */
  readonly secretsDir: string | undefined
}

/**
 * The doors of a runner that nobody runs: it has the files and hosts that it is said to have, serves every model that the configuration
 * names, and none of its doors leads outside.
 */
export function createCompileSeat(
  { config, base }: Pick<LoadedConfig, 'config' | 'base'>,
  { allows, secretsDir }: SeatSettings,
  closed: AbortSignal,
): Seat {
  const host = createTrialHost(config, base, closed)
  return {
    ...host,
    side: 'runner',
    // What a rule calls the runner is the runner.
    runners: { ...host.runners, names: Object.assign([], { includes: () => true }) },
    declared: new Set(),
    models: modelsIn(config.layers),
    allows,
    has: (name) => isFile(pathOf(secretsDir, name)),
    file: (name) => secretFrom(secretsDir, name),
    insideDigest: createInsideDigest([], new Map()),
  }
}

/** Every name that stands under a key `model` somewhere in the sections. */
function modelsIn(value: unknown): string[] {
  if (value === null || typeof value !== 'object') return []
  const found = Object.entries(value).flatMap(([key, member]) =>
    key === 'model' && typeof member === 'string' ? [member] : modelsIn(member),
  )
  return [...new Set(found)]
}

/** Rules name secrets by bare names only. */
function pathOf(folder: string | undefined, name: string): string | undefined {
  return folder !== undefined && /^(?!\.{1,2}$)[^/\\\0]{1,255}$/.test(name) ? join(folder, name) : undefined
}

function isFile(path: string | undefined): boolean {
  return path !== undefined && (statSync(path, { throwIfNoEntry: false })?.isFile() ?? false)
}

function secretFrom(folder: string | undefined, name: string): Buffer {
  const path = pathOf(folder, name)
  if (path !== undefined) return readSecretFile(path)
  throw gatewayError('config_invalid', `the secret ${JSON.stringify(name)} is not there`)
}
