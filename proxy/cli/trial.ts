import type { LoadedConfig } from '../../config/load.ts'
import { readNamedFile, resolveFrom } from '../../config/secret-file.ts'
import { type Fault, GatewayError, gatewayError } from '../../plugins/errors.ts'
import type { Clock, Log } from '../../plugins/host.ts'
import { createTokenEstimator } from '../../plugins/token-estimator.ts'
import { type Lasting, openSetup } from '../setup.ts'
import { createStore } from '../store/index.ts'

const clock: Clock = { now: Date.now }
const silent: Log = { info: () => {}, warn: () => {}, error: () => {} }

/**
 * Opens each layer of a configuration by itself, without network, and closes it again: what only a layer can find wrong, such as a
 * pattern that does not compile. Every layer's faults, with the layer's place in front.
 */
export async function trialFaults({ config, base, line }: LoadedConfig): Promise<Fault[]> {
  const lasting = await createLasting(base)
  const faults: Fault[] = []
  for (const [name, section] of Object.entries(config.layers)) {
    try {
      const setup = await openSetup({ ...config, layers: { [name]: section } }, lasting)
      await setup.retire()
    } catch (reason) {
      if (!(reason instanceof GatewayError)) throw reason
      faults.push(...faultsFromError(reason, `layers.${name}`))
    }
  }
  await lasting.store.close()
  return faults.map((fault) => ({
    ...fault,
    ...(line(fault.path) === undefined ? {} : { line: line(fault.path) as number }),
  }))
}

async function createLasting(base: string): Promise<Lasting> {
  const store = await createStore(embedded, clock, silent)
  const http = { send: async () => Promise.reject(gatewayError('runner_unreachable', 'a check asks nobody')) }
  const file = (path: string): Buffer => readNamedFile(resolveFrom(base, path))
  return { clock, store, http, tokens: createTokenEstimator(), log: silent, count: () => {}, file }
}

const embedded = {
  kind: 'embedded',
  maxBytes: 1_048_576,
  onLoss: 'local',
  commandTimeoutMs: 150,
  connectTimeoutMs: 1_000,
} as const

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
