import { type Fault, type GatewayError, gatewayErrorFrom } from '../plugins/errors.ts'
import type { LoadedConfig } from './load.ts'

/** How the last attempt to read the configuration again went. */
export interface ReloadOutcome {
  readonly ok: boolean
  /** False when the configuration was the same as before. */
  readonly changed: boolean
  /** When, in milliseconds since the epoch. */
  readonly at: number
  /** Who or what asked: `start`, `file`, `SIGHUP`, or the name of a person. */
  readonly by: string
  /** What was wrong; empty when nothing was. The configuration before it is still the one in use. */
  readonly faults: readonly Fault[]
  readonly warnings: readonly Fault[]
  /** Digest of the configuration that is in use now. */
  readonly digest: string
}

/** The configuration in use, and the only way to another one. */
export interface LiveConfig {
  readonly current: LoadedConfig
  readonly lastReload: ReloadOutcome
  /** Reads the file again; one at a time. Never throws: what is wrong is in the outcome, and the configuration in use stays. */
  reload(by: string): Promise<ReloadOutcome>
}

/** What a live configuration is made of. */
export interface LiveOptions {
  /** Reads and checks the file. Throws `config_invalid`. */
  readonly load: () => LoadedConfig
  /** Builds what a configuration needs and switches to it, all or nothing; when it throws, nothing has changed. */
  readonly apply: (next: LoadedConfig) => void | Promise<void>
  /** Hears of every outcome: log and metric. */
  readonly heard?: (outcome: ReloadOutcome) => void
  readonly now?: () => number
}

/** Keeps the configuration that is in use until another one has proved out. `first` is in use already. */
export function createLiveConfig(first: LoadedConfig, options: LiveOptions): LiveConfig {
  const { load, apply, heard, now = Date.now } = options
  let current = first
  let last = outcomeFrom(first, { by: 'start', at: now(), changed: true })
  let turn: Promise<unknown> = Promise.resolve()

  const attempt = async (by: string): Promise<ReloadOutcome> => {
    try {
      const next = load()
      // Secrets that were read in do not show in the digest, so an equal digest alone proves nothing.
      const changed = JSON.stringify(next.config) !== JSON.stringify(current.config)
      await apply(next)
      current = next
      last = outcomeFrom(next, { by, at: now(), changed })
    } catch (reason) {
      last = refusedOutcome(gatewayErrorFrom(reason), { by, at: now(), digest: current.digest })
    }
    heard?.(last)
    return last
  }
  return {
    get current() {
      return current
    },
    get lastReload() {
      return last
    },
    reload(by) {
      const mine = turn.then(() => attempt(by))
      turn = mine
      return mine
    },
  }
}

function outcomeFrom(loaded: LoadedConfig, asked: Pick<ReloadOutcome, 'by' | 'at' | 'changed'>): ReloadOutcome {
  return { ok: true, ...asked, faults: [], warnings: loaded.warnings, digest: loaded.digest }
}

function refusedOutcome(error: GatewayError, asked: Pick<ReloadOutcome, 'by' | 'at' | 'digest'>): ReloadOutcome {
  const faults = error.detail.faults ?? [{ path: error.detail.field ?? '', message: error.message }]
  return { ok: false, changed: false, ...asked, faults, warnings: [] }
}
