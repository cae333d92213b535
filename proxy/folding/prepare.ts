import type { Call } from '../../plugins/call.ts'
import type { Capabilities } from '../../plugins/capabilities.ts'
import type { Route } from '../../plugins/chat.ts'
import type { ContextModes } from '../../plugins/execution-context-facts.ts'
import type { VerifyingKey } from '../../plugins/jws-key.ts'
import type { Mode } from '../../plugins/layer.ts'
import type { CallFold } from './call-fold.ts'
import type { ContextAsk, SealedSend } from './context.ts'
import { Fallback } from './fallback.ts'
import type { FoldedPolicy } from './policies.ts'
import type { Instance } from './processes/instance.ts'
import type { WhyNot } from './processes/why-not.ts'
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

/** All that a send needs but its connection. */
export interface Prepared {
  readonly instance: Instance
  readonly ackKey: VerifyingKey
  readonly policy: FoldedPolicy
  /** Makes the context of one more send. */
  seal(): SealedSend
}

interface Preparing extends SendParts {
  modesOf(fold: CallFold): ContextModes
}

/**
 * Makes what prepares sends. It throws a {@link Fallback} for what the runner cannot do, and leaves out observers that it cannot have.
 */
export function createPreparing(parts: SendParts): (folded: FoldedCall, body: Buffer) => Prepared | Promise<Prepared> {
  const preparing = { ...parts, modesOf: createModes(parts.order) }
  return (folded, body) => prepared(preparing, folded, body)
}

/** At once where the runner was reached and knows the policy, which is how it is but for the first calls. */
function prepared(parts: Preparing, folded: FoldedCall, body: Buffer): Prepared | Promise<Prepared> {
  const { call, instance } = folded
  const policy = parts.policyOf(call.route)
  if (!policy) throw new Fallback('policy-unknown', `no policy for the route ${call.route}`)
  if (!instance) throw new Fallback('unsupported-layer', 'the runner is not one that executes layers')
  const going = { folded, body, policy, instance }
  const known = instance.capabilities && instance.report(policy.digest)
  return known ? preparedWith(parts, going) : onceKnown(parts, going)
}

interface Preparation {
  readonly folded: FoldedCall
  readonly body: Buffer
  readonly policy: FoldedPolicy
  readonly instance: Instance
}

async function onceKnown(parts: Preparing, going: Preparation): Promise<Prepared> {
  const { instance, policy } = going
  if (!instance.capabilities) await instance.ready
  requireSpoken(instance)
  if (!instance.report(policy.digest)) await registered(instance, policy)
  return preparedWith(parts, going)
}

function requireSpoken({ capabilities, ackKey }: Instance): { ackKey: VerifyingKey; capabilities: Capabilities } {
  if (!ackKey)
    throw new Fallback('unsupported-layer', 'the key of the acknowledgements of the runner is not configured')
  if (!capabilities) throw new Fallback('runner-error', 'the runner has not said what it can do')
  return { ackKey, capabilities }
}

function preparedWith(parts: Preparing, { folded, body, policy, instance }: Preparation): Prepared {
  const { call, fold } = folded
  const { ackKey, capabilities } = requireSpoken(instance)
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
  const unable: Unable[] = []
  fold.modes.forEach((mode, name) => {
    const why = instance.whyNot(name, digest)
    if (why) unable.push({ name, mode, why })
  })
  if (unable.length === 0) return
  const deciding = unable.filter(({ mode }) => mode === 'enforce')
  const failing = deciding.length > 0 || unable.length < fold.modes.size ? deciding : unable
  const [first] = failing
  if (first) {
    const names = failing.map(({ name }) => name)
    throw new Fallback(first.why.reason, first.why.words, names)
  }
  for (const { name } of unable) fold.leftOut(name)
}

interface Unable {
  readonly name: string
  readonly mode: Mode
  readonly why: WhyNot
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
