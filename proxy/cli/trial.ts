import type { LoadedConfig } from '../../config/load.ts'
import type { GatewayConfig } from '../../config/schema.ts'
import { readNamedFile, resolveFrom } from '../../config/secret-file.ts'
import { createEmbeddedStore } from '../../config/store/embedded.ts'
import { type Fault, GatewayError, gatewayError } from '../../plugins/errors.ts'
import { headerNames } from '../../plugins/headers.ts'
import type { Clock, Host, Log } from '../../plugins/host.ts'
import { layers } from '../../plugins/index.ts'
import type { Layer } from '../../plugins/layer.ts'
import { createTokenEstimator } from '../../plugins/token-estimator.ts'

/**
 * Opens each layer of a configuration, without network, and closes it again: what only a layer can find wrong, such as a pattern that
 * does not compile. Every layer's faults, with the layer's place in front.
 */
export async function trialFaults({ config, base, line }: LoadedConfig): Promise<Fault[]> {
  const closing = new AbortController()
  const host = createTrialHost(config, base, closing.signal)
  const faults: Fault[] = []
  for (const layer of layers as readonly Layer[]) {
    const section = config.layers[layer.name]
    if (section === undefined) continue
    try {
      const acting = await layer.open(section, host)
      await acting.close?.()
    } catch (reason) {
      if (!(reason instanceof GatewayError)) throw reason
      faults.push(...faultsFromError(reason, `layers.${layer.name}`))
    }
  }
  closing.abort()
  await host.store.close()
  return faults.map((fault) => {
    const place = line(fault.path)
    return place === undefined ? fault : { ...fault, line: place }
  })
}

const clock: Clock = { now: Date.now }
const silent: Log = { info: () => {}, warn: () => {}, error: () => {} }

/** The doors of a gateway that nobody runs: files are read, everything else leads nowhere. */
export function createTrialHost(config: GatewayConfig, base: string, closed: AbortSignal): Host {
  const nowhere = async () => Promise.reject(gatewayError('runner_unreachable', 'a check asks nobody'))
  const declared = (layers as readonly Layer[]).flatMap((layer) => {
    const section = config.layers[layer.name]
    return section === undefined ? [] : (layer.declares?.(section) ?? [])
  })
  return {
    side: 'gateway',
    clock,
    store: createEmbeddedStore(clock),
    http: { send: nowhere },
    tokens: createTokenEstimator(),
    log: silent,
    runners: {
      names: config.runners.map((runner) => runner.name),
      state: () => ({ available: true, retryAfterMs: 0, outstandingTokens: 0 }),
      ask: nowhere,
    },
    declared: new Set(declared),
    conversationHeader: headerNames(config.headers.prefix).conversationId,
    models: [],
    trusts: () => false,
    secret: () => Buffer.alloc(32, 1),
    file: (path) => readNamedFile(resolveFrom(base, path)),
    count: () => {},
    closed,
  }
}

function faultsFromError({ message, detail }: GatewayError, place: string): Fault[] {
  const faults = detail.faults ?? [{ path: detail.field ?? '', message }]
  return faults.map((fault) => {
    const within = fault.path === place || fault.path.startsWith(`${place}.`)
    const path = within
      ? fault.path
      : `${place}${fault.path === '' || fault.path.startsWith('[') ? '' : '.'}${fault.path}`
    return { ...fault, path }
  })
}
