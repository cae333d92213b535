import type { Call } from '../call.ts'
import { type Fault, type GatewayError, gatewayError } from '../errors.ts'
import type { Host } from '../host.ts'
import { sayFault } from '../schema.ts'
import { tightenedRules } from './asked.ts'
import { type CompiledRules, compileRules } from './compile.ts'
import type { Config } from './config.ts'
import { conflictsIn } from './conflicts.ts'
import { own, rulesFor } from './rule.ts'
import type { PostprocessStep } from './step.ts'

/** Rules made ready, and why no answer can satisfy them once a caller's directives are added. */
export interface Ready {
  readonly compiled: CompiledRules
  readonly unsatisfiable?: GatewayError
}

/**
 * Makes the rules ready that calls can meet; the function finds those of a call. Without directives all of them, at once: throws
 * `config_invalid` with every fault. With directives only those of the call that comes.
 */
export function readyRules({ declared, asked, ...config }: PostprocessStep, host: Host): (call: Call) => Ready {
  const around = { declared: new Set(declared), file: (path: string) => host.file(path) }
  const ready = new Map<string, Ready>()
  const keyOf = keysOf(config)
  if (!asked) {
    makeAll(config, around, (route, tenant, compiled) => ready.set(keyOf(route, tenant), { compiled }))
    return ({ route, facts }) => ready.get(keyOf(route, facts.principal?.tenant)) as Ready
  }
  return ({ route, facts }) => {
    const tenant = facts.principal?.tenant
    const key = keyOf(route, tenant)
    const known = ready.get(key)
    if (known) return known
    const faults: Fault[] = []
    const compiled = compileRules(tightenedRules(rulesFor(config, route, tenant), asked), { ...around, faults })
    const [fault] = [...faults, ...conflictsIn(compiled)]
    const made = { compiled, ...(fault && { unsatisfiable: unsatisfiable(fault) }) }
    ready.set(key, made)
    return made
  }
}

type Around = Omit<Parameters<typeof compileRules>[1], 'faults'>

/** One set of rules for each route and tenant that differ. */
function keysOf({ routes, tenants }: Config): (route: string, tenant: string | undefined) => string {
  return (route, tenant) =>
    `${own(routes, route) ? route : ''}\n${tenant !== undefined && own(tenants, tenant) ? tenant : ''}`
}

function makeAll(
  config: Config,
  around: Around,
  keep: (route: string, tenant: string | undefined, compiled: CompiledRules) => unknown,
): void {
  const faults = new Map<string, Fault>()
  for (const tenant of [undefined, ...Object.keys(config.tenants)]) {
    for (const route of ['', ...Object.keys(config.routes)]) {
      const found: Fault[] = []
      const compiled = compileRules(rulesFor(config, route, tenant), { ...around, faults: found })
      const at = tenant !== undefined ? `tenants.${tenant}.` : route ? `routes.${route}.` : ''
      for (const { path, message } of [...found, ...conflictsIn(compiled)]) {
        // What is wrong for all would be said again for each.
        const known = `${path}\n${message}`
        if (!faults.has(known)) faults.set(known, { path: at + path, message })
      }
      keep(route, tenant, compiled)
    }
  }
  const all = [...faults.values()]
  if (all.length > 0) throw gatewayError('config_invalid', sayFault(all[0]), { faults: all })
}

function unsatisfiable(fault: Fault): GatewayError {
  const asked = fault.path.startsWith('execution_context')
  return gatewayError('unsatisfiable', `what execution_context asks and these rules clash: ${sayFault(fault)}`, {
    field: asked ? fault.path : 'execution_context',
  })
}
