import type { Host } from '../host.ts'
import type { Acting } from '../layer.ts'
import { pass } from '../verdict.ts'
import { createCleaner } from './cleaner.ts'
import { readyRules } from './ready.ts'
import { buffers, cleaningFor, jsonDemand, needsWhole } from './rule.ts'
import type { PostprocessStep } from './step.ts'
import { settleWhole } from './whole.ts'

/**
 * What the layer does to a call, in the gateway and at the runner alike. An observer holds the copy that it is given to every rule, but
 * asks no judge, tells no reviewer, asks for no other answer and counts nothing. Throws `config_invalid` with every fault.
 */
export function postprocessActing(step: PostprocessStep, host: Host): Acting {
  const rulesOf = readyRules(step, host)
  const count = (what: 'redacted' | 'blocked' | 'repaired'): void => host.count(`postprocess.${what}`)
  return {
    // The same object for the same rules, so that its digest is made once.
    ruleFor: (call) => rulesOf(call).compiled.stated,
    buffers: (call) => buffers(rulesOf(call).compiled.rules, call) && call.request.stream === true,
    decide(call) {
      const { compiled, unsatisfiable } = rulesOf(call)
      if (unsatisfiable) throw unsatisfiable
      // What nobody could answer rightly is refused before it costs anything.
      jsonDemand(compiled, call)
      return pass()
    },
    settle(call, reply, { again, mode }) {
      if (!reply.ok) return reply
      const { compiled } = rulesOf(call)
      const counted = mode === 'observe' ? uncounted : count
      const demand = jsonDemand(compiled, call)
      const cleaning = cleaningFor(compiled, call, counted)
      // An answer that is not streamed may be refused with a status of its own, and asked for again.
      const blocks = compiled.blocks && !reply.streamed
      if (blocks || needsWhole(compiled.rules, demand !== undefined)) {
        const repaired = (): void => counted('repaired')
        return settleWhole({ compiled, demand, cleaning, call, host, mode, again, repaired }, reply)
      }
      return cleaning ? reply.through(createCleaner(cleaning)) : reply
    },
  }
}

function uncounted(): void {}
