import { acknowledgementHeaders, essenceDigest, type LayerMember } from '../../../plugins/acknowledgement.ts'
import { type Acknowledged, verifyAcknowledgement } from '../../../plugins/acknowledgement-verify.ts'
import { credentialHeader } from '../../../plugins/caller-credential.ts'
import type { Capabilities } from '../../../plugins/capabilities.ts'
import { gatewayError, gatewayErrorFrom } from '../../../plugins/errors.ts'
import { sealContext } from '../../../plugins/execution-context-seal.ts'
import type { Host } from '../../../plugins/host.ts'
import { type Layer, type Probe, probeFor, probeModel } from '../../../plugins/layer.ts'
import { Fallback } from '../fallback.ts'
import type { FoldedPolicy } from '../policies.ts'
import { callOfProbe, type ProbeSending, policyOfProbe, sendingOfProbe } from './probe-call.ts'
import { openProbeSeat, ownEssence } from './probe-seat.ts'
import type { Registrar } from './registration.ts'
import { fallbackFromRefusal, passesBy, type WhyNot, whyFromError } from './why-not.ts'
import { ask, type Wire } from './wire.ts'

/** What probes are asked over. */
export interface ProbeGround {
  readonly wire: Wire
  readonly registrar: Registrar
  /** The gateway's own: its verdicts are what the runner's are held against. */
  readonly host: Host
  readonly capabilities: Capabilities
}

const timeoutMs = 10_000

/** The first probe of a layer that does not hold at a runner, in words; undefined when all of them hold. Throws what passes by. */
export async function layerProbesFault(layer: Layer, ground: ProbeGround): Promise<WhyNot | undefined> {
  for (const probe of layer.native?.probes ?? []) {
    const why = await probeFault(layer, probe, ground)
    if (why) return why
  }
  return undefined
}

/**
 * Asks a runner about one probe, and says why the answer is not what it must be: not acknowledged, another outcome or code, or another
 * essence than that of the gateway's own half. Undefined when it is. Throws what passes by: the runner is away, or another process.
 */
export async function probeFault(layer: Layer, probe: Probe, ground: ProbeGround): Promise<WhyNot | undefined> {
  try {
    const why = await wantingIn(layer, probe, ground)
    return why && { reason: why.reason, words: `probe "${probe.title}": ${why.words}` }
  } catch (reason) {
    const error = gatewayErrorFrom(reason)
    if (passesBy(error)) throw error
    const why = whyFromError(error)
    return { reason: why.reason, words: `probe "${probe.title}": ${why.words}` }
  }
}

async function wantingIn(layer: Layer, asked: Probe, ground: ProbeGround): Promise<WhyNot | undefined> {
  const served = ground.capabilities.models.map(({ id }) => id)
  if (served.length === 0 && JSON.stringify(asked.step).includes(`"${probeModel}"`))
    return { reason: 'model-unavailable', words: 'the runner serves no model that it could be tried with' }
  const probe = probeFor(asked, served)
  const folded = policyOfProbe(layer, probe)
  const refused = (await ground.registrar.register(folded)).layers[layer.name]
  if (refused?.status === 'refused')
    return { reason: 'unsupported-layer', words: `its step was refused with ${refused.code}` }
  const answer = await decided(layer, probe, { folded, ground })
  if (!answer.ok) {
    const words = `it was not acknowledged: ${answer.mismatch}`
    return { reason: 'not-acknowledged', words }
  }
  const member = answer.acknowledgement.layers[layer.name] as LayerMember
  const outcome = outcomeFault(probe, member)
  if (outcome !== undefined) return { reason: 'parity-mismatch', words: outcome }
  using seat = openProbeSeat(ground.host, ground.capabilities)
  const call = callOfProbe(layer, probe, answer.acknowledgement.runner.id)
  const own = layer.native && essenceDigest(await ownEssence(layer.native, { probe, call, seat }))
  return member.e === own
    ? undefined
    : { reason: 'parity-mismatch', words: `its verdict is not that of the gateway's half, ${member.o} though it is` }
}

function outcomeFault({ expect }: Probe, { o, code }: LayerMember): string | undefined {
  if (o === expect.o && (expect.code === undefined || code === expect.code)) return undefined
  const said = (outcome?: string, why?: string): string => `${outcome}${why === undefined ? '' : ` ${why}`}`
  return `${said(expect.o, expect.code)} was expected, ${said(o, code)} came`
}

interface Deciding {
  readonly folded: FoldedPolicy
  readonly ground: ProbeGround
}

/** Asks for a decision; once more where the runner has let the probe's policy go meanwhile. Throws `runner_*` or a `Fallback`. */
async function decided(layer: Layer, probe: Probe, { folded, ground }: Deciding): Promise<Acknowledged> {
  const { registrar } = ground
  try {
    return await decidedOnce(layer, probe, { folded, ground })
  } catch (reason) {
    if (!(reason instanceof Fallback) || reason.reason !== 'policy-unknown') throw reason
    registrar.forget(folded.digest)
    await registrar.register(folded)
    return decidedOnce(layer, probe, { folded, ground })
  }
}

async function decidedOnce(layer: Layer, probe: Probe, { folded, ground }: Deciding): Promise<Acknowledged> {
  const { wire, capabilities } = ground
  const call = callOfProbe(layer, probe, wire.randomId())
  const sending = sendingOfProbe({ layer, probe, call }, folded.digest, { wire, capabilities })
  const answer = await ask(wire, {
    method: 'POST',
    path: '/decide',
    headers: headersOf(sending, ground),
    body: call.body,
    signed: true,
    timeoutMs,
  })
  if (answer.refusal) throw fallbackFromRefusal(answer.refusal, 'its context')
  if (answer.status !== 200) throw gatewayError('runner_protocol', `the runner answered ${answer.status} to it`)
  if (!wire.ackKey) return { ok: false, mismatch: 'mac' }
  const asked = { context: sending.context, key: wire.ackKey, versions: folded.versions }
  return verifyAcknowledgement(answer.header(acknowledgementHeaders.head), asked)
}

function headersOf({ context, credential }: ProbeSending, { wire, capabilities }: ProbeGround): Record<string, string> {
  const sealed = sealContext(context, wire.key, capabilities.maxContextBytes)
  if (!sealed.ok) throw gatewayError('runner_protocol', `its context cannot be sent: ${sealed.detail}`)
  return {
    'content-type': 'application/json',
    'x-execution-context': sealed.header,
    ...(credential === undefined ? {} : { [credentialHeader]: credential }),
  }
}
