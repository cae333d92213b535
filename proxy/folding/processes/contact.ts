import { randomBytes } from 'node:crypto'
import { acknowledgementKey } from '../../../plugins/acknowledgement-verify.ts'
import type { Capabilities } from '../../../plugins/capabilities.ts'
import { gatewayError, gatewayErrorFrom } from '../../../plugins/errors.ts'
import type { FallbackReason } from '../../../plugins/execution-context-fallback.ts'
import { layers as allLayers } from '../../../plugins/index.ts'
import type { Layer } from '../../../plugins/layer.ts'
import type { PolicyReport } from '../../../plugins/policy-report.ts'
import type { Line } from '../../line.ts'
import { Fallback } from '../fallback.ts'
import { type BackOff, createBackOff, later } from '../later.ts'
import type { FoldedPolicy } from '../policies.ts'
import { fetchCapabilities, shakeHands } from './handshake.ts'
import type { InstanceParts } from './instance-parts.ts'
import { createKnowledge, type Knowledge, type Shown } from './knowledge.ts'
import { layerProbesFault, type ProbeGround } from './probing.ts'
import { createRegistrar, type Registrar } from './registration.ts'
import { createRenewals } from './renewals.ts'
import { type WhyNot, whyFromError } from './why-not.ts'
import type { Wire } from './wire.ts'

/** The contact with one runner process: handshakes when they are due, and what came of them. */
export interface Contact {
  readonly runner: string
  readonly layers: readonly Layer[]
  readonly wire: Wire
  readonly registrar: Registrar
  readonly knowledge: Knowledge
  /** A handshake is under way. */
  readonly busy: boolean
  /** What probes are asked over; once the runner was reached. */
  ground(): ProbeGround
  /** Says in log and metrics how a probe, or all of a layer's probes, came out. */
  probed(layer: string, why: WhyNot | undefined): void
  register(digest: string): Promise<PolicyReport>
  noticed(shown: Shown): void
  renew(digest: string): Promise<void>
  doubted(): void
  refresh(): Promise<void>
  close(): void
}

interface State extends Pick<Contact, 'runner' | 'layers' | 'wire' | 'registrar' | 'knowledge'> {
  readonly parts: InstanceParts
  readonly backOff: BackOff
  going?: Promise<void>
  callOff?: () => void
  /** What was noticed while a handshake was under way. */
  shown?: Shown
  quietUntil: number
  /** Why the last handshake failed: said once. */
  failed?: string
  /** Why no layer can act there: said once. */
  none?: string
}

/** Refusals that somebody puts right while both processes go on. */
const mends: ReadonlySet<FallbackReason> = new Set(['signature', 'expired'])

/** How long to wait after failed handshakes, and after one that did not find what was noticed, in milliseconds. */
const [firstWaitMs, longestWaitMs, fruitlessMs] = [250, 15_000, 5_000]

/** Makes a {@link Contact}. Nothing is asked before `refresh`. */
export function createContact(line: Line, parts: InstanceParts): Contact {
  const closing = new AbortController()
  const state = createState(line, parts, closing.signal)
  const renewals = createRenewals(state.wire.clock)
  const { runner, layers, wire, registrar, knowledge } = state
  return {
    runner,
    layers,
    wire,
    registrar,
    knowledge,
    get busy() {
      return state.going !== undefined
    },
    ground: () => groundOf(state),
    probed: (layer, why) => probed(state, layer, why),
    register: async (digest) => registrar.register(known(state, digest)),
    noticed: (shown) => noticed(state, shown),
    renew: (digest) => renewals.once(digest, () => renew(state, digest)),
    doubted: () => doubted(state),
    refresh: () => refresh(state),
    close() {
      closing.abort()
      state.callOff?.()
    },
  }
}

function createState(line: Line, parts: InstanceParts, closed: AbortSignal): State {
  const { key, iss, host, watch, layers = allLayers, alone = () => true, randomId = drawn } = parts
  const runner = line.settings.name
  const ackKey = key.alg === 'HS256' ? acknowledgementKey(key) : parts.ackKey
  const wire: Wire = { line, iss, key, ackKey, clock: host.clock, randomId, closed }
  const registrar = createRegistrar(wire, (report) => watch?.registered?.(runner, report))
  const knowledge = createKnowledge({ wire, registrar, layers, alone })
  const backOff = createBackOff(firstWaitMs, longestWaitMs)
  return { runner, parts, wire, layers, registrar, knowledge, backOff, quietUntil: 0 }
}

const drawn = (): string => randomBytes(16).toString('hex')

/** The policy of this digest, if the runner can be given it. Throws a `Fallback`. */
function known({ parts, knowledge }: State, digest: string): FoldedPolicy {
  const folded = parts.policies.get(digest)
  if (!folded) throw gatewayError('internal', `there is no policy ${digest}`)
  const why = knowledge.whyNone()
  if (why) throw new Fallback(why.reason, why.words)
  return folded
}

function refresh(state: State): Promise<void> {
  if (state.wire.closed.aborted) return Promise.resolve()
  state.going ??= handshake(state).finally(() => {
    delete state.going
    const { shown } = state
    delete state.shown
    if (shown) noticed(state, shown)
  })
  return state.going
}

async function handshake(state: State): Promise<void> {
  const { wire, registrar, knowledge, parts, backOff, runner } = state
  state.callOff?.()
  try {
    const probe = (layer: Layer): Promise<WhyNot | undefined> => tried(state, layer)
    const { address, port, peer } = wire.line
    const met = (capabilities: Capabilities): void =>
      parts.watch?.met?.(runner, `${peer ?? address}:${port}`, capabilities)
    await shakeHands({ wire, registrar, knowledge, policies: parts.policies.all, probe, met })
    delete state.failed
    parts.watch?.handshake?.(runner, 'done')
    const why = knowledge.whyNone()
    if (!why) delete state.none
    else if (state.none !== why.words)
      parts.host.log.warn({ runner, reason: why.reason, why: why.words }, 'no layer can act at the runner')
    if (why) state.none = why.words
    // Keys and clocks are put right without a restart, and nothing that the runner shows would tell of it.
    if (why && mends.has(why.reason)) again(state)
    else backOff.reset()
  } catch (reason) {
    if (state.wire.closed.aborted) return
    const why = whyFromError(gatewayErrorFrom(reason))
    knowledge.lose(why)
    parts.watch?.handshake?.(runner, 'failed')
    if (state.failed !== why.words)
      parts.host.log.warn({ runner, why: why.words }, 'the handshake with the runner failed')
    state.failed = why.words
    again(state)
  }
}

function again(state: State): void {
  state.callOff = (state.parts.later ?? later)(state.backOff.next(), () => void refresh(state))
}

function groundOf({ wire, registrar, parts, knowledge }: State): ProbeGround {
  return { wire, registrar, host: parts.host, capabilities: knowledge.capabilities as Capabilities }
}

async function tried(state: State, layer: Layer): Promise<WhyNot | undefined> {
  const why = await layerProbesFault(layer, groundOf(state))
  probed(state, layer.name, why)
  return why
}

function probed({ parts, runner }: State, layer: string, why: WhyNot | undefined): void {
  parts.watch?.probed?.(runner, layer, why === undefined)
  if (why)
    parts.host.log.warn({ runner, layer, reason: why.reason, why: why.words }, 'a layer cannot act at the runner')
}

function noticed(state: State, shown: Shown): void {
  const { knowledge, wire } = state
  if (!knowledge.capabilities || !knowledge.isNews(shown) || wire.clock.now() < state.quietUntil) return
  if (state.going) {
    state.shown = shown
    return
  }
  void refresh(state).then(() => {
    // Whoever shows what is not so must not keep us busy.
    if (knowledge.isNews(shown)) state.quietUntil = wire.clock.now() + fruitlessMs
  })
}

/** Greeted anew, but not for every call that is refused. */
function doubted(state: State): void {
  const now = state.wire.clock.now()
  if (state.going || now < state.quietUntil) return
  state.quietUntil = now + fruitlessMs
  void refresh(state)
}

async function renew(state: State, digest: string): Promise<void> {
  const { registrar, knowledge, wire } = state
  if (state.going) await state.going
  else {
    const { boot, caps } = await fetchCapabilities(wire)
    if (knowledge.isNews({ boot, caps }) || boot !== knowledge.capabilities?.boot) await refresh(state)
    else registrar.forget(digest)
  }
  await registrar.register(known(state, digest))
}
