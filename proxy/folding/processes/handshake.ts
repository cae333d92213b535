import { type Capabilities, capabilitiesFault } from '../../../plugins/capabilities.ts'
import { gatewayError, gatewayErrorFrom } from '../../../plugins/errors.ts'
import type { Layer } from '../../../plugins/layer.ts'
import { Fallback } from '../fallback.ts'
import type { FoldedPolicy } from '../policies.ts'
import type { Knowledge } from './knowledge.ts'
import type { Registrar } from './registration.ts'
import { passesBy, type WhyNot } from './why-not.ts'
import { ask, jsonFromAnswer, type Wire } from './wire.ts'

/** What a handshake is made over. */
export interface HandshakeGround {
  readonly wire: Wire
  readonly registrar: Registrar
  readonly knowledge: Knowledge
  readonly policies: readonly FoldedPolicy[]
  /** The process has said what it is. */
  met?(capabilities: Capabilities): void
  /** Why a layer's probes found it wanting; undefined when all of them held. Throws what passes by. */
  probe(layer: Layer): Promise<WhyNot | undefined>
}

const timeoutMs = 5_000

/** Asks a runner what it can do. Throws `runner_*`; `runner_protocol` for a document that is none. */
export async function fetchCapabilities(wire: Wire): Promise<Capabilities> {
  const answer = await ask(wire, { method: 'GET', path: '', signed: false, timeoutMs })
  if (answer.status !== 200)
    throw gatewayError('runner_protocol', `the runner answered ${answer.status} when it was asked what it can do`)
  const capabilities = jsonFromAnswer(answer)
  const fault = capabilitiesFault(capabilities)
  if (fault !== undefined) throw gatewayError('runner_protocol', `the runner's capabilities are wrong: ${fault}`)
  return capabilities as Capabilities
}

/**
 * Learns what a runner can do, gives it the policies, and tries each layer that it offers with the layer's probes. What the runner refuses
 * is known afterwards; throws `runner_*` when the handshake came to no end and must be made again.
 */
export async function shakeHands({ wire, registrar, knowledge, policies, probe, met }: HandshakeGround): Promise<void> {
  const capabilities = await fetchCapabilities(wire)
  knowledge.learn(capabilities)
  met?.(capabilities)
  registrar.begin(capabilities)
  if (knowledge.whyNone()) return
  const given = policies.map((folded) => registrar.register(folded))
  const excluded = (why: WhyNot | undefined): void => {
    const none = why && takesNothing(why, wire)
    if (none) knowledge.exclude(none)
  }
  const tried = knowledge.tryable().map(async (layer) => {
    const why = await probe(layer)
    knowledge.judge(layer.name, why)
    excluded(why)
  })
  // All of them have ended before another handshake may begin.
  for (const each of await Promise.allSettled([...given, ...tried])) {
    if (each.status === 'fulfilled') continue
    const error = gatewayErrorFrom(each.reason)
    if (passesBy(error)) throw error
    if (error instanceof Fallback) excluded({ reason: error.reason, words: error.message })
  }
}

/** What is refused for our key or our clock is refused for every layer. */
function takesNothing({ reason, words }: WhyNot, { key }: Wire): WhyNot | undefined {
  if (reason === 'signature')
    return { reason, words: `${words}: under the name ${key.kid} it holds another key than this gateway` }
  return reason === 'expired' ? { reason, words: `${words}: the two clocks are far apart` } : undefined
}
