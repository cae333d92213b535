import { configSchema } from '../../config/installed.ts'
import type { LoadedConfig } from '../../config/load.ts'
import { canonicalDigest } from '../../plugins/canonical.ts'
import type { Clock } from '../../plugins/host.ts'
import { type Gateway, type GatewayOptions, startGateway } from '../../proxy/gateway.ts'

/** What a test's gateway is started with; everything else is the product's default, on free ports of the loopback interface. */
export interface TestGatewayOptions {
  /** A URL for each runner, named `a`, `b`, …; or whole runner sections. */
  readonly runners: readonly (string | Readonly<Record<string, unknown>>)[]
  readonly layers?: Readonly<Record<string, unknown>>
  /** More sections, such as `listen` or `store`, merged one level deep over the test's own. */
  readonly config?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly clock?: Clock
  /** Where files named in the configuration are looked for. */
  readonly base?: string
  readonly pace?: GatewayOptions['pace']
}

/** A gateway in this process, and what it has logged. */
export interface TestGateway extends Gateway, AsyncDisposable {
  readonly lines: readonly Record<string, unknown>[]
  /** The next `live.reload` reads this. */
  next(options: Partial<TestGatewayOptions>): void
}

/** Starts a gateway as the product does, from a configuration given as data. Ends at once when the test does. */
export async function startTestGateway(options: TestGatewayOptions): Promise<TestGateway> {
  let current = options
  const lines: Record<string, unknown>[] = []
  const gateway = await startGateway({
    loaded: loadedFrom(current),
    load: () => loadedFrom(current),
    ...(options.clock ? { clock: options.clock } : {}),
    ...(options.pace ? { pace: options.pace } : {}),
    logTo: { write: (line: string) => void lines.push(JSON.parse(line)) },
  })
  return {
    ...gateway,
    lines,
    next(changes) {
      current = { ...current, ...changes }
    },
    [Symbol.asyncDispose]: () => gateway.close(),
  }
}

function loadedFrom(options: TestGatewayOptions): LoadedConfig {
  const { listen, admin, drain, telemetry, ...sections } = options.config ?? {}
  const config = configSchema.parse({
    listen: { port: 0, heartbeatMs: 0, ...listen },
    admin: { port: 0, ...admin },
    drain: { delayMs: 0, graceMs: 1000, ...drain },
    telemetry: { logLevel: 'info', ...telemetry },
    runners: options.runners.map(runnerFrom),
    layers: options.layers ?? {},
    ...sections,
    folding: { stateFile: null, ...sections['folding'] },
  })
  const base = options.base ?? process.cwd()
  return {
    config,
    view: config,
    digest: canonicalDigest(config),
    warnings: [],
    line: () => undefined,
    fingerprint: canonicalDigest(config),
    file: `${base}/test.yaml`,
    base,
    files: [],
  }
}

function runnerFrom(runner: string | Readonly<Record<string, unknown>>, index: number): Record<string, unknown> {
  const name = String.fromCharCode('a'.charCodeAt(0) + index)
  return typeof runner === 'string' ? { name, kind: 'openai', url: runner } : { name, kind: 'openai', ...runner }
}
