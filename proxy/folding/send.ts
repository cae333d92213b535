import { type Asked, verifyAcknowledgement } from '../../plugins/acknowledgement-verify.ts'
import type { Call } from '../../plugins/call.ts'
import type { Route } from '../../plugins/chat.ts'
import type { ExecutionContext } from '../../plugins/execution-context.ts'
import type { ContextModes } from '../../plugins/execution-context-facts.ts'
import {
  type ContextRefusal,
  fallbackReasonFromRefusal,
  refusalFromProblem,
} from '../../plugins/execution-context-refusal.ts'
import type { VerifyingKey } from '../../plugins/jws-key.ts'
import type { Mode } from '../../plugins/layer.ts'
import type { PolicyReport } from '../../plugins/policy-report.ts'
import type { Exchange } from '../exchange.ts'
import type { CallFold, RunnerSaid } from './call-fold.ts'
import type { ContextAsk, SealedSend } from './context.ts'
import { Fallback } from './fallback.ts'
import type { FoldedPolicy } from './policies.ts'
import type { Instance } from './processes/instance.ts'
import type { Ejections } from './rollout/ejections.ts'

/** What it takes to send calls with a context. */
export interface SendParts {
  /** The layers of a route, outermost first. */
  readonly order: readonly string[]
  readonly contexts: (ask: ContextAsk) => SealedSend
  policyOf(route: Route): FoldedPolicy | undefined
  /** Places that were taken out of a canary. */
  readonly ejections?: Pick<Ejections, 'has'> | undefined
}

/** One call, split, on its way to one runner process. */
export interface FoldedCall {
  readonly call: Call
  readonly fold: CallFold
  readonly instance: Instance | undefined
}

/** The bytes of one request, and how it is sent with given headers. */
export interface FoldedRequest {
  readonly body: Buffer
  /** `seal` makes the headers of one send; it is called again should the request have to go out once more. */
  send(seal: () => readonly string[]): Promise<Exchange>
}

/** What an acknowledgement is held against, with what the sending side had read. */
export interface AskedSend extends Asked {
  readonly context: Asked['context'] & Pick<ExecutionContext, 'reads' | 'bod'>
}

/** An answer that was acknowledged, and what its end will be held against. */
export interface FoldedExchange {
  readonly exchange: Exchange
  readonly said: RunnerSaid
  readonly asked: AskedSend
}

/** Sends a call with its context. Throws {@link Fallback} for what the runner could not do of it, before anything was served. */
export type SendFolded = (folded: FoldedCall, request: FoldedRequest) => Promise<FoldedExchange>

/** Makes {@link SendFolded}: what a runner that forgot or restarted refuses is put right and sent once more. */
export function createSendFolded(parts: SendParts): SendFolded {
  const preparing = { ...parts, modesOf: createModes(parts.order) }
  return async (folded, request) => {
    for (let cured = false; ; cured = true) {
      const { instance, ackKey, policy, seal } = await prepared(preparing, folded, request.body)
      let sealed: SealedSend | undefined
      const exchange = await request.send(() => {
        sealed = seal()
        return sealed.headers
      })
      const refusal = await refusalIn(exchange)
      if (!refusal && sealed) {
        const { context } = sealed
        const asked = { context, key: ackKey, versions: policy.versions }
        return acknowledged(exchange, { instance, asked, fold: folded.fold })
      }
      if (!refusal) throw new Fallback('runner-error', 'the call was not sent')
      if (refusal.code === 'missing') folded.fold.missing.add('x-execution-context')
      if (cured || !(await cure(instance, refusal, policy.digest))) {
        throw new Fallback(fallbackReasonFromRefusal(refusal), refusal.detail, refusal.layer ? [refusal.layer] : [])
      }
    }
  }
}

interface Prepared {
  readonly instance: Instance
  readonly ackKey: VerifyingKey
  readonly policy: FoldedPolicy
  /** Makes the context of one more send. */
  seal(): SealedSend
}

interface Preparing extends SendParts {
  modesOf(fold: CallFold): ContextModes
}

async function prepared(parts: Preparing, { call, fold, instance }: FoldedCall, body: Buffer): Promise<Prepared> {
  const policy = parts.policyOf(call.route)
  if (!policy) throw new Fallback('policy-unknown', `no policy for the route ${call.route}`)
  if (!instance) throw new Fallback('unsupported-layer', 'the runner is not one that executes layers')
  if (!instance.capabilities) await instance.ready
  const { capabilities, ackKey } = instance
  if (!ackKey)
    throw new Fallback('unsupported-layer', 'the key of the acknowledgements of the runner is not configured')
  if (!capabilities) throw new Fallback('runner-error', 'the runner has not said what it can do')
  if (!instance.report(policy.digest)) await registered(instance, policy)
  requireAble(instance, policy, fold)
  requireInCanary(parts, instance, fold)
  const ask = {
    call,
    body,
    modes: parts.modesOf(fold),
    shadow: false,
    aud: capabilities.boot,
    maxBytes: capabilities.maxContextBytes,
    policy,
  }
  return { instance, ackKey, policy, seal: () => parts.contexts({ ...ask, attempt: ++fold.sends }) }
}

async function registered(instance: Instance, policy: FoldedPolicy): Promise<void> {
  try {
    await instance.register(policy.digest)
  } catch (reason) {
    if (reason instanceof Fallback) throw reason
    throw new Fallback('policy-unknown', reason instanceof Error ? reason.message : 'the policy was not registered')
  }
}

/** A layer that is to observe and cannot is left out; where one that is to enforce cannot, or none is left, the call goes without a context. */
function requireAble(instance: Instance, { digest }: FoldedPolicy, fold: CallFold): void {
  const unable = [...fold.modes].flatMap(([name, mode]) => {
    const why = instance.whyNot(name, digest)
    return why ? [{ name, mode, why }] : []
  })
  const deciding = unable.filter(({ mode }) => mode === 'enforce')
  const failing = deciding.length > 0 || unable.length < fold.modes.size ? deciding : unable
  const [first] = failing
  if (first) {
    const names = failing.map(({ name }) => name)
    throw new Fallback(first.why.reason, first.why.words, names)
  }
  for (const { name } of unable) fold.modes.delete(name)
}

/** What a place that was taken out of a canary would have decided, the gateway decides: nobody counts that against the runner. */
function requireInCanary({ ejections }: Preparing, { runner }: Instance, { rollout, modes, stages }: CallFold): void {
  if (rollout === undefined || !ejections?.has(rollout, runner)) return
  const names = [...modes].flatMap(([name, mode]) =>
    mode === 'enforce' && stages.get(name) === 'canary' ? [name] : [],
  )
  if (names.length > 0) throw new Fallback('operator-disabled', `${runner} was taken out of the canary`, names)
}

/**
 * Tells what each layer is to do, in the order of the route, outermost first. There are few combinations and every call has one, so each is made
 * once, and who works something out from one may keep it by that object.
 */
function createModes(order: readonly string[]): (fold: CallFold) => ContextModes {
  const known = new Map<string, ContextModes>()
  return ({ modes }) => {
    let name = ''
    for (const each of order) name += letters[modes.get(each) ?? 'none']
    let found = known.get(name)
    if (!found) {
      found = Object.fromEntries(order.flatMap((each) => (modes.has(each) ? [[each, modes.get(each) as Mode]] : [])))
      known.set(name, found)
    }
    return found
  }
}
const letters = { enforce: 'e', observe: 'o', none: '-' } as const

const maxProblemBytes = 4_096

async function refusalIn(exchange: Exchange): Promise<ContextRefusal | undefined> {
  const type = exchange.headers['content-type']
  if (exchange.status < 400 || !type?.startsWith('application/problem+json')) return undefined
  return refusalFromProblem(exchange.status, type, await exchange.whole(maxProblemBytes))
}

/** Puts right what made the runner refuse: it forgot the policy, or it is another process than before. */
async function cure(instance: Instance, { code }: ContextRefusal, digest: string): Promise<boolean> {
  if (code === 'policy-unknown' || code === 'audience') await instance.renew(digest)
  else if (code === 'unsupported') await instance.refresh()
  else {
    // No help for this call; but what the gateway says of the runner is to be true for the next.
    if (code === 'signature' || code === 'expired') instance.doubted()
    return false
  }
  return true
}

interface Acknowledging {
  readonly instance: Instance
  readonly asked: AskedSend
  readonly fold: CallFold
}

/** The runner's word for what it did. An answer without it is not passed on: nobody knows which layers have seen it. */
function acknowledged(exchange: Exchange, { instance, asked, fold }: Acknowledging): FoldedExchange {
  const header = exchange.headers['x-layer-ack']
  const verified = verifyAcknowledgement(typeof header === 'string' ? header : undefined, asked)
  if (!verified.ok) {
    exchange.drop()
    const failed = exchange.status >= 500 && verified.mismatch === 'absent'
    if (failed) throw new Fallback('runner-error', `the runner answered ${exchange.status}`)
    if (verified.mismatch === 'absent') fold.missing.add('x-layer-ack')
    const words = `the acknowledgement does not hold: ${verified.mismatch}${verified.layer ? ` (${verified.layer})` : ''}`
    const mismatch = { kind: verified.mismatch, layer: verified.layer }
    throw new Fallback('not-acknowledged', words, verified.layer ? [verified.layer] : [], mismatch)
  }
  const { acknowledgement } = verified
  instance.noticed(acknowledgement.runner)
  const soft = softLayersOf(instance.report(asked.context.pol))
  const said = { acknowledgement, beside: instance.capabilities?.placement === 'beside-engine', soft }
  return { exchange, said, asked }
}

const softLayers = new WeakMap<PolicyReport, readonly string[]>()
const none: readonly string[] = []

/** The layers that the runner enforces in part only, worked out once for each report. */
function softLayersOf(report: PolicyReport | undefined): readonly string[] {
  if (!report) return none
  const found =
    softLayers.get(report) ?? Object.keys(report.layers).filter((name) => report.layers[name]?.status === 'soft')
  softLayers.set(report, found)
  return found
}
