import { verifyAcknowledgement } from '../../plugins/acknowledgement-verify.ts'
import type { Call } from '../../plugins/call.ts'
import type { ContextModes } from '../../plugins/execution-context-facts.ts'
import type { ContextAsk, SealedSend } from './context.ts'
import type { Instance } from './instance.ts'
import type { FoldedPolicy } from './policies.ts'

/** A call that a runner is asked about without running it. */
export interface DecideAsk {
  readonly call: Call
  readonly modes: ContextModes
  /** A copy made for comparison: its state is apart. */
  readonly copy: boolean
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
        .catch(() => undefined)
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
        return
      }
      waiting.push(question)
      // The call itself goes first.
      setImmediate(next)
    },
    idle: () => (asked + waiting.length === 0 ? Promise.resolve() : new Promise((resolve) => idle.push(resolve))),
  }
}

async function decide(parts: DecidesParts, { call, modes, copy }: DecideAsk): Promise<void> {
  const policy = parts.policyOf(call)
  const instance = parts.instanceFor(call)
  const capabilities = instance?.capabilities
  if (!policy || !instance || !capabilities) return
  const able = Object.entries(modes).filter(([name]) => !instance.whyNot(name, policy.digest))
  if (able.length === 0) return
  const key = instance.ackKey
  const sealed = parts.contexts({
    call,
    body: call.body,
    modes: Object.fromEntries(able),
    // No send of the call itself comes this far.
    attempt: 999,
    shadow: copy,
    aud: capabilities.boot,
    maxBytes: capabilities.maxContextBytes,
    policy,
  })
  const text = await parts.post(instance, sealed.headers, call.body)
  if (!key) return
  const said = verifyAcknowledgement(text, { context: sealed.context, key, versions: policy.versions })
  if (said.ok) instance.noticed(said.acknowledgement.runner)
}
