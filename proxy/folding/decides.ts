import type { Acknowledgement } from '../../plugins/acknowledgement.ts'
import { verifyAcknowledgement } from '../../plugins/acknowledgement-verify.ts'
import type { Call } from '../../plugins/call.ts'
import { gatewayErrorFrom } from '../../plugins/errors.ts'
import type { ExecutionContext } from '../../plugins/execution-context.ts'
import type { ContextModes, LayerReads } from '../../plugins/execution-context-facts.ts'
import type { ContextAsk, SealedSend } from './context.ts'
import type { SkipReason } from './diff/comparison.ts'
import type { FoldedPolicy } from './policies.ts'
import type { Instance } from './processes/instance.ts'

/** A call that a runner is asked about without running it. */
export interface DecideAsk {
  readonly call: Call
  readonly modes: ContextModes
  /** A copy made for comparison: its state is apart. */
  readonly copy: boolean
  /** What those who decided here had read. */
  readonly reads: ReadonlyMap<string, LayerReads>
  readonly answer: DecideAnswer
}

/** Hears what became of a question. */
export interface DecideAnswer {
  said(acknowledgement: Acknowledgement, context: ExecutionContext): void
  /** It was not answered for these layers. */
  not(reason: SkipReason, layers: readonly string[]): void
}

/** Asks runners what their layers would have decided, beside the calls and never in their way. */
export interface Decides {
  /** Queues the question, or drops it when too many wait. */
  ask(question: DecideAsk): void
  /** Resolves when nothing waits any more; for tests and for closing. */
  idle(): Promise<void>
}

/** What it takes to ask. */
export interface DecidesParts {
  readonly contexts: (ask: ContextAsk) => SealedSend
  policyOf(call: Call): FoldedPolicy | undefined
  /** The runner process to ask; undefined when there is none. */
  instanceFor(call: Call): Instance | undefined
  /** Sends the question; gives back the acknowledgement's text. Throws what the runner's failure is. */
  post(instance: Instance, headers: readonly string[], body: Buffer): Promise<string | undefined>
  /** One more was dropped. */
  dropped(): void
}

/** How many may wait, and how many are asked at a time. */
const most = { waiting: 256, asked: 4 } as const

/** Makes {@link Decides}. A question that fails is gone: it was only a question. */
export function createDecides(parts: DecidesParts): Decides {
  const waiting: DecideAsk[] = []
  let asked = 0
  let idle: (() => void)[] = []
  const next = (): void => {
    while (asked < most.asked) {
      const question = waiting.shift()
      if (!question) break
      asked++
      void decide(parts, question)
        .catch((reason) =>
          notAnswered(question, gatewayErrorFrom(reason).code === 'runner_timeout' ? 'timeout' : 'failed'),
        )
        .finally(() => {
          asked--
          next()
        })
    }
    if (asked > 0 || waiting.length > 0) return
    for (const done of idle) done()
    idle = []
  }
  return {
    ask(question) {
      if (waiting.length >= most.waiting) {
        parts.dropped()
        notAnswered(question, 'budget')
        return
      }
      waiting.push(question)
      // The call itself goes first.
      setImmediate(next)
    },
    idle: () => (asked + waiting.length === 0 ? Promise.resolve() : new Promise((resolve) => idle.push(resolve))),
  }
}

function notAnswered({ modes, answer }: DecideAsk, reason: SkipReason): void {
  answer.not(reason, Object.keys(modes))
}

async function decide(parts: DecidesParts, question: DecideAsk): Promise<void> {
  const { call, copy, reads, answer } = question
  const policy = parts.policyOf(call)
  const instance = parts.instanceFor(call)
  const capabilities = instance?.capabilities
  if (!policy || !instance || !capabilities) return notAnswered(question, 'runner-unable')
  const [able, unable] = ableIn(question, (name) => !instance.whyNot(name, policy.digest))
  answer.not('runner-unable', unable)
  if (Object.keys(able).length === 0) return
  const sealed = parts.contexts({
    call,
    body: call.body,
    modes: able,
    // No send of the call itself comes this far.
    attempt: 999,
    shadow: copy,
    aud: capabilities.boot,
    maxBytes: capabilities.maxContextBytes,
    policy,
    reads,
  })
  const text = await parts.post(instance, sealed.headers, call.body)
  const { context } = sealed
  const key = instance.ackKey
  const said = key && verifyAcknowledgement(text, { context, key, versions: policy.versions })
  if (!said?.ok) return answer.not('not-acknowledged', Object.keys(able))
  instance.noticed(said.acknowledgement.runner)
  answer.said(said.acknowledgement, context)
}

function ableIn({ modes }: DecideAsk, isAble: (layer: string) => boolean): [ContextModes, readonly string[]] {
  const names = Object.keys(modes)
  const able = Object.entries(modes).filter(([name]) => isAble(name))
  return [Object.fromEntries(able), names.filter((name) => !isAble(name))]
}
