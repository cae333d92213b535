import type { Call } from '../call.ts'
import type { ChatRequest } from '../chat.ts'
import type { Host } from '../host.ts'
import type { Acting, Mode } from '../layer.ts'
import { pass, type Verdict } from '../verdict.ts'
import { rememberUnfitted } from './essence.ts'
import { contextLimit, type Fitted } from './fit.ts'
import { type Doubtful, inDoubt, missedBy, roomFor, shortened, surelyCrowded, surelyFits } from './fitting.ts'
import { type Messages, withText } from './messages.ts'
import { type Prepared, type PromptRule, preparePrompt } from './rule.ts'
import { promptRuleFor } from './rule-for.ts'
import { type Started, secondPhase } from './second-phase.ts'
import { createStepsTransform } from './steps-reply.ts'
import { type Summariser, summariserOf } from './summary.ts'
import { namingRequest } from './two-phase-tools.ts'

/** What became of a conversation that did not fit. */
export interface ContextFact {
  readonly dropped: { readonly messages: number; readonly tokens: number }
  /** Messages cut in their middle. */
  readonly cut: number
  readonly summarised: boolean
}

interface Desk {
  readonly rule: PromptRule
  readonly host: Host
  readonly summariser: Summariser | undefined
  readonly started: Map<string, Started>
}

/** What the layer does to a call, in the gateway and at the runner alike. */
export function promptActing(rule: PromptRule, host: Host): Acting {
  const { strategy, summary } = rule.context
  const summariser = strategy === 'summarise' && summary ? summariserOf(summary, host) : undefined
  const desk: Desk = { rule, host, summariser, started: new Map() }
  return {
    decide: (call, mode) => decide(call, mode, desk),
    ruleFor(call) {
      // Asked before routing has spoken, so whatever model may answer is in it.
      const { cacheable, ...bearing } = promptRuleFor(rule, call, undefined)
      return cacheable ? bearing : undefined
    },
    settle(call, reply, { again }) {
      const so = desk.started.get(call.id)
      if (!so) return reply
      const { steps, naming } = so.prepared
      if (naming) return secondPhase({ call, so, naming }, reply, again)
      return steps ? reply.through(createStepsTransform(steps)) : reply
    },
    release: (call) => void desk.started.delete(call.id),
  }
}

interface Deciding {
  readonly call: Call
  readonly mode: Mode
  readonly desk: Desk
  readonly prepared: Prepared
}

function decide(call: Call, mode: Mode, desk: Desk): Verdict | Promise<Verdict> {
  const { rule } = desk
  const model = call.facts.target?.[0]?.model ?? call.request.model
  const prepared = preparePrompt(rule, call, model)
  const deciding: Deciding = { call, mode, desk, prepared }
  const doubtful = mayNotFit(deciding, model)
  if (!doubtful) return verdict(deciding)
  // An observer asks no runner on its own account.
  if (mode === 'observe' || !inDoubt(doubtful)) return madeToFit(deciding, doubtful, 0)
  return missedBy(doubtful).then((missed) => madeToFit(deciding, doubtful, missed))
}

function mayNotFit({ call, desk, prepared }: Deciding, model: string): Doubtful | undefined {
  const { context } = desk.rule
  const limit = contextLimit(context, model)
  const room = roomFor(context, model, call.request)
  if (limit === undefined || room === undefined || surelyFits(call, prepared.request, room)) return undefined
  const spare = desk.summariser ? (context.summary?.maxTokens ?? 0) : 0
  return { call, request: prepared.request, model, config: context, limit, spare, tokens: desk.host.tokens }
}

function madeToFit(deciding: Deciding, doubtful: Doubtful, missed: number): Verdict | Promise<Verdict> {
  const { mode, desk } = deciding
  const fitted = shortened(doubtful, missed)
  const crowded = surelyCrowded(doubtful)
  if (!fitted) return verdict(deciding, { crowded })
  if (mode === 'enforce') desk.host.count('prompt.context-dropped', fitted.dropped.length)
  const done = (summary: string | undefined): Verdict => verdict(deciding, { crowded, fitted, summary })
  const { summariser } = desk
  if (!summariser || fitted.dropped.length === 0 || !fitted.spared) return done(undefined)
  const remembered = summariser.remembered(fitted.dropped)
  if (remembered !== undefined || mode === 'observe') return done(remembered)
  return summariser.summarise(fitted.dropped).then(done)
}

interface Fit {
  readonly crowded: boolean
  readonly fitted?: Fitted
  readonly summary?: string | undefined
}

function verdict({ call, mode, desk, prepared }: Deciding, made?: Fit): Verdict {
  const { template, naming } = prepared
  const { fitted, summary } = made ?? {}
  const request = fitted ? { ...prepared.request, messages: told(fitted, summary) } : prepared.request
  if (mode === 'enforce' && (naming || prepared.steps)) desk.started.set(call.id, { prepared, request })
  const facts = { ...(template && { template }), ...(fitted && { context: contextFact(fitted, summary) }) }
  const said = pass(facts, sent(call, request, naming))
  if (made) rememberUnfitted(said, { request: sent(call, prepared.request, naming), ...made })
  return said
}

/** What goes further in; undefined when that is the very request that came. */
function sent(call: Call, request: ChatRequest, naming: Prepared['naming']): ChatRequest | undefined {
  const going = naming ? namingRequest(request, naming) : request
  return going === call.request ? undefined : going
}

function contextFact({ dropped, droppedTokens, cut }: Fitted, summary: string | undefined): ContextFact {
  return { dropped: { messages: dropped.length, tokens: droppedTokens }, cut, summarised: summary !== undefined }
}

/** What is left, with the summary before the first thing a user says: it holds users' words, so it is no instruction. */
function told({ messages }: Fitted, summary: string | undefined): Messages {
  const first = summary === undefined ? -1 : messages.findIndex(({ role }) => role === 'user')
  const message = messages[first]
  return message
    ? messages.with(first, withText(message, { before: `Earlier in this conversation: ${summary}` }))
    : messages
}
