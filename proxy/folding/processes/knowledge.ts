import type { Capabilities } from '../../../plugins/capabilities.ts'
import type { Layer } from '../../../plugins/layer.ts'
import { layerFault, runnerFault } from './capability-faults.ts'
import type { Registrar } from './registration.ts'
import type { WhyNot } from './why-not.ts'
import type { Wire } from './wire.ts'

/** What an answer shows of the process that gave it. */
export interface Shown {
  readonly boot?: string
  readonly caps?: string
}

/** What is known of one runner process, and what follows from it. */
export interface Knowledge {
  readonly capabilities: Capabilities | undefined
  /** It was reached, by the last handshake too. */
  readonly reached: boolean
  /** It says this of itself. Layers that were found good stay so while it is the same process with the same capabilities. */
  learn(capabilities: Capabilities): void
  /** The last handshake failed. */
  lose(why: WhyNot): void
  /** It takes nothing of ours: no layer can act there until the next handshake. */
  exclude(why: WhyNot): void
  /** The layers that probes decide about. */
  tryable(): readonly Layer[]
  /** The probes of a layer have spoken: it is good, or why not. */
  judge(layer: string, why: WhyNot | undefined): void
  /** A layer was found good. */
  believes(layer: string): boolean
  /** Whether this shows another process, or other capabilities, than those known. What a process of before shows is no news. */
  isNews(shown: Shown): boolean
  /** Why no layer at all can act there. */
  whyNone(): WhyNot | undefined
  /** Why a layer of a policy cannot act there. */
  whyNot(layer: string, digest: string): WhyNot | undefined
}

/** What knowledge is made from. */
export interface KnowledgeParts {
  readonly wire: Wire
  readonly registrar: Registrar
  readonly layers: readonly Layer[]
  /** Whether the runner is this one process. */
  alone(): boolean
}

interface State extends KnowledgeParts {
  capabilities?: Capabilities
  lost?: WhyNot
  none?: WhyNot
  /** By layer: why it cannot act by what the runner says of itself; undefined: it may. */
  readonly said: Map<string, WhyNot | undefined>
  /** By layer: why its probes found it wanting. */
  readonly faults: Map<string, WhyNot>
  readonly trying: Set<string>
  /** Boots of processes that answered here before, oldest first. */
  former: string[]
  severalUntil: number
}

/** How many boots are remembered, and how long several processes at one address keep every layer in the gateway, in milliseconds. */
const mostFormer = 16
const severalMs = 60_000

/** Makes a {@link Knowledge} of a runner that was not reached yet. */
export function createKnowledge(parts: KnowledgeParts): Knowledge {
  const state: State = { ...parts, said: new Map(), faults: new Map(), trying: new Set(), former: [], severalUntil: 0 }
  const whyNone = (): WhyNot | undefined => noneOf(state)
  return {
    get capabilities() {
      return state.capabilities
    },
    get reached() {
      return state.capabilities !== undefined && state.lost === undefined
    },
    learn: (capabilities) => learn(state, capabilities),
    lose(why) {
      state.lost = why
    },
    exclude(why) {
      state.none = why
    },
    tryable: () => tryable(state),
    judge(layer, why) {
      state.trying.delete(layer)
      if (why) state.faults.set(layer, why)
      else state.faults.delete(layer)
    },
    believes: (layer) => whyNone() === undefined && faultOf(state, layer) === undefined,
    isNews: ({ boot, caps }) =>
      boot === undefined || boot === state.capabilities?.boot
        ? caps !== undefined && caps !== state.capabilities?.caps
        : !state.former.includes(boot),
    whyNone,
    whyNot: (layer, digest) => whyNone() ?? faultOf(state, layer) ?? policyFault(state, layer, digest),
  }
}

function learn(state: State, capabilities: Capabilities): void {
  const before = state.capabilities
  delete state.lost
  state.capabilities = capabilities
  const none = runnerFault(capabilities, state.wire)
  if (none) state.none = none
  else delete state.none
  for (const layer of state.layers) state.said.set(layer.name, layerFault(layer, capabilities, state.wire))
  if (before?.boot === capabilities.boot && before.caps === capabilities.caps) return
  if (before && before.boot !== capabilities.boot) remember(state, before.boot, capabilities.boot)
  state.faults.clear()
  state.trying.clear()
  for (const layer of tryable(state)) state.trying.add(layer.name)
}

/** Boots are drawn anew at each start: one that comes back belongs to another process, and an address is to be one process. */
function remember(state: State, before: string, now: string): void {
  if (state.former.includes(now)) state.severalUntil = state.wire.clock.now() + severalMs
  state.former = [...state.former.filter((boot) => boot !== now), before].slice(-mostFormer)
}

function tryable({ layers, capabilities, none, said }: State): readonly Layer[] {
  if (!capabilities || none) return []
  return layers.filter(({ name }) => said.get(name) === undefined)
}

function noneOf(state: State): WhyNot | undefined {
  if (state.lost) return state.lost
  if (!state.capabilities) return { reason: 'runner-error', words: 'the runner was not reached yet' }
  if (state.severalUntil <= state.wire.clock.now()) return state.none
  const words = 'several processes answer at one address; the URL must name each of them, as a headless service does'
  return { reason: 'audience', words }
}

function faultOf({ layers, capabilities, said, trying, faults, alone }: State, name: string): WhyNot | undefined {
  const layer = layers.find((each) => each.name === name)
  if (!layer) return { reason: 'unsupported-layer', words: `there is no layer ${name}` }
  const fault = said.get(name) ?? faults.get(name)
  if (fault) return fault
  if (trying.has(name)) return { reason: 'circuit-open', words: `the probes of ${name} are still under way` }
  if (!layer.native?.stateful || capabilities?.state === 'shared' || alone()) return undefined
  const words = `${name} keeps its state in each process of this runner; over several it needs a store that they share`
  return { reason: 'unsupported-layer', words }
}

function policyFault({ registrar }: State, layer: string, digest: string): WhyNot | undefined {
  const report = registrar.report(digest)
  if (!report)
    return registrar.fault(digest) ?? { reason: 'policy-unknown', words: 'the policy was not given to the runner yet' }
  const found = Object.hasOwn(report.layers, layer) ? report.layers[layer] : undefined
  if (!found) return { reason: 'unsupported-layer', words: `${layer} is not in the policy` }
  if (found.status !== 'refused') return undefined
  const { code, path, try: rewrite } = found
  const words = `the runner cannot execute the step of ${layer}: ${code}${path ? ` at ${path}` : ''}${rewrite ? `; try ${rewrite}` : ''}`
  return { reason: code === 'VERSION_MISMATCH' ? 'unsupported-version' : 'unsupported-layer', words }
}
