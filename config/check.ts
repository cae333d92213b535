import type { Fault } from '../plugins/errors.ts'
import type { Layer } from '../plugins/layer.ts'
import { fileChecks } from './check-files.ts'
import { foldingChecks } from './check-folding.ts'
import { layerChecks } from './check-layers.ts'
import { networkChecks } from './check-network.ts'
import { runnerChecks } from './check-runners.ts'
import { signingChecks } from './check-signing.ts'
import type { GatewayConfig } from './schema.ts'

/** One thing that a schema cannot say, because it looks at several fields or outside the file. */
export interface Check {
  /** The sections it looks at, such as `runners` or `layers.cache`; it is not asked while one of them is at fault. */
  readonly reads: readonly string[]
  run(config: GatewayConfig, notes: Notes): void
}

/** Where a check says what it found. */
export interface Notes {
  /** Every layer there is. */
  readonly layers: readonly Layer[]
  /** The directory that files are relative to. */
  readonly base: string
  /** The configuration cannot be used. */
  fault(path: string, message: string): void
  /** It can be used, but somebody should know. */
  warn(path: string, message: string): void
}

/** What the checks found. */
export interface Checked {
  readonly faults: readonly Fault[]
  readonly warnings: readonly Fault[]
}

const checks: readonly Check[] = [
  ...networkChecks,
  ...signingChecks,
  ...runnerChecks,
  ...layerChecks,
  ...foldingChecks,
  ...fileChecks,
]

/** Runs every check whose sections are sound. `unsound` are the sections that have faults already. */
export function checkConfig(
  config: GatewayConfig,
  around: Pick<Notes, 'base' | 'layers'>,
  unsound: ReadonlySet<string> = new Set(),
): Checked {
  const faults: Fault[] = []
  const warnings: Fault[] = []
  const notes: Notes = {
    ...around,
    fault: (path, message) => void faults.push({ path, message }),
    warn: (path, message) => void warnings.push({ path, message }),
  }
  for (const check of checks) if (!check.reads.some((section) => unsound.has(section))) check.run(config, notes)
  return { faults, warnings }
}
