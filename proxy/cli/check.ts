import type { LoadedConfig } from '../../config/load.ts'
import { type Fault, GatewayError } from '../../plugins/errors.ts'
import { lineFromFault } from './fault-line.ts'
import { formatFromInvocation, outputOption, printData } from './output.ts'
import type { Io, Verb } from './verb.ts'

/** `foldgate check FILE`: says everything that is wrong with a configuration. */
export const check: Verb = {
  name: 'check',
  summary: 'check a configuration and print every fault with its path and line',
  usage: 'FILE [-o FORMAT]',
  example: 'foldgate check gateway.yaml && foldgate serve gateway.yaml',
  options: outputOption,
  takes: [1, 1],
  async run(invocation) {
    const { io } = invocation
    const [file = ''] = invocation.positionals
    const format = formatFromInvocation(invocation)
    const found = await loadOrFaults(file)
    const faults = 'faults' in found ? found.faults : []
    const warnings = 'faults' in found ? [] : found.warnings
    const ok = faults.length === 0
    if (printData(io, format, { file, ok, faults, warnings })) return ok ? 0 : 1
    for (const fault of faults) io.out(format === 'name' ? fault.path : lineFromFault(fault))
    for (const warning of warnings) io.say(`warning: ${lineFromFault(warning)}`)
    if ('faults' in found) io.say(`${file}: ${faults.length === 1 ? '1 fault' : `${faults.length} faults`}`)
    else sayRight(io, file, found)
    return ok ? 0 : 1
  },
}

/** What loading a configuration gave, or every fault of it. */
export async function loadOrFaults(file: string): Promise<LoadedConfig | { readonly faults: readonly Fault[] }> {
  // Here and not above: the other verbs need no layers, and must work while one of them is broken.
  const { loadGatewayConfig } = await import('../../config/installed.ts')
  try {
    const loaded = loadGatewayConfig(file)
    const { trialFaults } = await import('./trial.ts')
    const faults = await trialFaults(loaded)
    return faults.length > 0 ? { faults } : loaded
  } catch (reason) {
    if (!(reason instanceof GatewayError)) throw reason
    return { faults: reason.detail.faults ?? [{ path: reason.detail.field ?? '', message: reason.message }] }
  }
}

function sayRight(io: Io, file: string, { config }: LoadedConfig): void {
  const layers = Object.keys(config.layers)
  const runners = config.runners.map((each) => each.name).join(', ')
  io.out(`ok ${file}: layers ${layers.length > 0 ? layers.join(', ') : 'none'}; runners ${runners}`)
}
