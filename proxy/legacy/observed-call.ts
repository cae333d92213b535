import type { Call } from '../../plugins/call.ts'
import { gatewayError, gatewayErrorFrom } from '../../plugins/errors.ts'
import type { Acting, Again, Layer } from '../../plugins/layer.ts'
import { type Reply, replyFromBytes } from '../../plugins/reply.ts'
import { afterPass, refuse, type Verdict } from '../../plugins/verdict.ts'
import { type Answer, answerFromBytes, type RawAnswer } from '../folding/diff/answer.ts'
import { type LayerSaid, saidFromVerdict } from '../folding/diff/legacy-finding.ts'

/** What our layers have said of a call that somebody else serves. Everything in it was only observed. */
export interface ObservedCall {
  readonly verdicts: Readonly<Record<string, LayerSaid>>
  /** The call with all that was learned of it. */
  readonly call: Call
  /** What our layers would have made of this answer; undefined where they make nothing of it. Once, before `release`. */
  settle(legacy: RawAnswer): Promise<Answer | undefined>
  release(): void
}

/** The layers of a configuration, outermost first. */
export interface Observers {
  readonly layers: readonly Layer[]
  readonly acting: ReadonlyMap<string, Acting>
}

interface Asked {
  readonly acting: Acting
  readonly call: Call
}

/** Asks the layers of its route in turn, as if each had decided, up to the first that refuses or answers. Never throws. */
export async function observeCall(call: Call, { layers, acting }: Observers): Promise<ObservedCall> {
  const asked: Asked[] = []
  const verdicts: Record<string, LayerSaid> = {}
  let going = call
  let passed = true
  for (const { name, routes } of layers) {
    const half = acting.get(name)
    if (!half || !routes.includes(call.route)) continue
    const verdict = await decided(half, going)
    asked.push({ acting: half, call: going })
    verdicts[name] = saidFromVerdict(verdict)
    passed = verdict.kind === 'pass'
    if (verdict.kind !== 'pass') break
    going = afterPass(going, verdict)
  }
  return {
    verdicts,
    call: going,
    settle: async (legacy) => (passed ? settled(asked, legacy, going) : undefined),
    release() {
      for (const each of asked.toReversed()) each.acting.release?.(each.call)
    },
  }
}

async function decided(acting: Acting, call: Call): Promise<Verdict> {
  try {
    return (await acting.decide?.(call, 'observe')) ?? { kind: 'pass', facts: {} }
  } catch (reason) {
    return refuse(gatewayErrorFrom(reason))
  }
}

const never: Again = async () => {
  throw gatewayError('internal', 'an observer asks nothing again')
}

/** What observers would make of it; an error of theirs is the answer then. */
async function settled(asked: readonly Asked[], legacy: RawAnswer, call: Call): Promise<Answer | undefined> {
  // A message (Anthropic) is made from a chat on its way out, and the chain's is one already.
  if (legacy.status >= 300 || call.route === 'messages') return undefined
  const events = /event-stream/i.test(String(legacy.headers['content-type'] ?? ''))
  try {
    let reply = replyOf(legacy, call, events)
    for (const { acting, call: seen } of asked.toReversed()) {
      reply = (await acting.settle?.(seen, reply, { mode: 'observe', again: never })) ?? reply
    }
    const body = await reply.whole()
    return answerFromBytes({ status: reply.status, headers: { 'content-type': typeOf(events) }, body })
  } catch (reason) {
    return { status: gatewayErrorFrom(reason).status, headers: {}, body: null }
  }
}

function replyOf({ status, body }: RawAnswer, call: Call, events: boolean): Reply {
  const target = call.facts.target?.[0]
  const init = { status, streamed: events, source: 'runner', ...(target ? { target } : {}) } as const
  // Whatever the caller asked of usage, the chain has said it already.
  return replyFromBytes({ ...init, includeUsage: true }, events ? 'events' : 'json', [body])
}

function typeOf(events: boolean): string {
  return events ? 'text/event-stream' : 'application/json'
}
