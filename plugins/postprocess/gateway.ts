import type { Call } from '../call.ts'
import { type Fault, gatewayError } from '../errors.ts'
import type { Host } from '../host.ts'
import type { Acting } from '../layer.ts'
import { sayFault } from '../schema.ts'
import { pass } from '../verdict.ts'
import { createCleaner } from './cleaner.ts'
import { type CompiledRules, compileRules } from './compile.ts'
import type { Config } from './config.ts'
import { conflictsIn } from './conflicts.ts'
import { buffers, cleaningFor, jsonDemand, needsWhole, own, rulesFor } from './rule.ts'
import { settleWhole } from './whole.ts'

/** Makes the gateway half. Every set of rules that a call can meet is made ready here. Throws `config_invalid` with every fault. */
export function open(config: Config, host: Host): Acting {
  const rulesOf = readyRules(config, host)
  const count = (what: 'redacted' | 'blocked'): void => host.count(`postprocess.${what}`)
  return {
    // The same object for the same rules, so that its digest is made once.
    ruleFor: (call) => rulesOf(call).rules,
    buffers: (call) => buffers(rulesOf(call).rules, call) && call.request.stream === true,
    decide(call) {
      // What nobody could answer rightly is refused before it costs anything.
      jsonDemand(rulesOf(call), call)
      return pass()
    },
    settle(call, reply, { again }) {
      if (!reply.ok) return reply
      const compiled = rulesOf(call)
      const demand = jsonDemand(compiled, call)
      const cleaning = cleaningFor(compiled, call, count)
      // An answer that is not streamed may be refused with a status of its own, and asked for again.
      const blocks = compiled.blocks && !reply.streamed
      if (blocks || needsWhole(compiled.rules, demand !== undefined)) {
        const repaired = (): void => host.count('postprocess.repaired')
        return settleWhole({ compiled, demand, cleaning, call, host, again, repaired }, reply)
      }
      return cleaning ? reply.through(createCleaner(cleaning)) : reply
    },
  }
}

/** Compiles the rules for each route and tenant that differ; the function finds those of a call. */
function readyRules(config: Config, host: Host): (call: Call) => CompiledRules {
  const { routes, tenants } = config
  const ready = new Map<string, CompiledRules>()
  const faults = new Map<string, Fault>()
  const keyOf = (route: string, tenant: string | undefined): string =>
    `${own(routes, route) ? route : ''}\n${tenant !== undefined && own(tenants, tenant) ? tenant : ''}`
  for (const tenant of [undefined, ...Object.keys(tenants)]) {
    for (const route of ['', ...Object.keys(routes)]) {
      const found: Fault[] = []
      const compiled = compileRules(rulesFor(config, route, tenant), { declared: host.declared, faults: found })
      const at = tenant !== undefined ? `tenants.${tenant}.` : route ? `routes.${route}.` : ''
      for (const { path, message } of [...found, ...conflictsIn(compiled)]) {
        // What is wrong for all would be said again for each.
        const known = `${path}\n${message}`
        if (!faults.has(known)) faults.set(known, { path: at + path, message })
      }
      ready.set(keyOf(route, tenant), compiled)
    }
  }
  const all = [...faults.values()]
  if (all.length > 0) throw gatewayError('config_invalid', sayFault(all[0]), { faults: all })
  return ({ route, facts }) => ready.get(keyOf(route, facts.principal?.tenant)) as CompiledRules
}
