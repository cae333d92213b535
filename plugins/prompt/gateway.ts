import type { Call } from '../call.ts'
import { type ChatRequest, outputLimit, textOfMessage } from '../chat.ts'
import type { Host } from '../host.ts'
import type { Acting, Again, Mode } from '../layer.ts'
import type { Reply } from '../reply.ts'
import { pass, type Verdict } from '../verdict.ts'
import type { PromptConfig } from './config.ts'
import { contextLimit, type Fitted, fitRequest } from './fit.ts'
import { type Messages, withText } from './messages.ts'
import { type Prepared, type PromptRule, preparePrompt } from './rule.ts'
import { promptRuleFor } from './rule-for.ts'
import { ruleFromConfig } from './rule-from-config.ts'
import { createStepsTransform } from './steps-reply.ts'
import { createSummariser, type Summariser } from './summary.ts'
import { callingRequest, createUsageAdder, namedTool, namingRequest } from './two-phase-tools.ts'
import { unknownNames } from './unknown-names.ts'

/** What became of a conversation that did not fit. */
export interface ContextFact {
  readonly dropped: { readonly messages: number; readonly tokens: number }
  /** Messages cut in their middle. */
  readonly cut: number
  readonly summarised: boolean
}

/** A call whose answer needs more than passing on. */
interface Started {
  readonly prepared: Prepared
  /** The request as it would go without the first of two phases. */
  readonly request: ChatRequest
}

interface Desk {
  readonly rule: PromptRule
  readonly host: Host
  readonly summariser: Summariser | undefined
  readonly started: Map<string, Started>
}

/** The gateway half. Throws `config_invalid` with every fault across fields. */
export function openPrompt(config: PromptConfig, host: Host): Acting {
  const rule = ruleFromConfig(config, host)
  const { strategy, summary } = rule.context
  const summariser = strategy === 'summarise' && summary ? createSummariser(summary, host) : undefined
  warnOfNames(rule, host)
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

/** A name that nothing configured can fill may still be a claim; more often it is a slip that makes every call fail. */
function warnOfNames(rule: PromptRule, host: Host): void {
  const names = unknownNames(rule)
  if (names.length > 0) host.log.warn({ names }, 'templates mention names that are no variable, fact or declared claim')
}

function decide(call: Call, mode: Mode, desk: Desk): Verdict | Promise<Verdict> {
  const { rule, host, summariser } = desk
  const model = call.facts.target?.[0]?.model ?? call.request.model
  const prepared = preparePrompt(rule, call, model)
  const fitted = madeToFit(call, { prepared, model, desk })
  if (!fitted) return verdict(call, { prepared, mode, desk })
  if (mode === 'enforce') host.count('prompt.context-dropped', fitted.dropped.length)
  const done = (summary: string | undefined): Verdict => verdict(call, { prepared, mode, desk, fitted, summary })
  if (!summariser || fitted.dropped.length === 0 || !fitted.spared) return done(undefined)
  const remembered = summariser.remembered(fitted.dropped)
  // An observer asks no runner on its own account.
  if (remembered !== undefined || mode === 'observe') return done(remembered)
  return summariser.summarise(fitted.dropped).then(done)
}

function madeToFit(
  call: Call,
  { prepared, model, desk }: { prepared: Prepared; model: string; desk: Desk },
): Fitted | undefined {
  const { rule, host, summariser } = desk
  const limit = contextLimit(rule.context, model)
  if (
    limit === undefined ||
    surelyFits(call, prepared.request, limit - (outputLimit(call.request) ?? rule.context.reserveOutput))
  )
    return undefined
  const spare = summariser ? (rule.context.summary?.maxTokens ?? 0) : 0
  const count = (text: string): number => host.tokens.count(text, model)
  return fitRequest(prepared.request, { config: rule.context, model, limit, count, spare })
}

/** Bytes that a schema we add may have, and the most that a character of UTF-16 takes in UTF-8. */
const schemaBytes = 1024
const charBytes = 3

/** A token is a byte or more: a body shorter than the room is not worth counting. Pictures can be worth more than their address. */
function surelyFits(call: Call, request: ChatRequest, room: number): boolean {
  let bytes = call.body.length + (request.response_format === call.request.response_format ? 0 : schemaBytes)
  if (bytes > room) return false
  const came = new Set(call.request.messages)
  for (const message of request.messages ?? []) {
    if (Array.isArray(message.content)) return false
    if (!came.has(message)) bytes += charBytes * textOfMessage(message).length
  }
  return bytes <= room
}

interface Deciding {
  readonly prepared: Prepared
  readonly mode: Mode
  readonly desk: Desk
  readonly fitted?: Fitted
  readonly summary?: string | undefined
}

function verdict(call: Call, { prepared, mode, desk, fitted, summary }: Deciding): Verdict {
  const { template, naming } = prepared
  const request = fitted ? { ...prepared.request, messages: told(fitted, summary) } : prepared.request
  if (mode === 'enforce' && (naming || prepared.steps)) desk.started.set(call.id, { prepared, request })
  const facts = { ...(template && { template }), ...(fitted && { context: contextFact(fitted, summary) }) }
  const sent = naming ? namingRequest(request, naming) : request
  return pass(facts, sent === call.request ? undefined : sent)
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

interface SecondPhase {
  readonly call: Call
  readonly so: Started
  readonly naming: readonly string[]
}

async function secondPhase({ call, so, naming }: SecondPhase, reply: Reply, again: Again): Promise<Reply> {
  if (!reply.ok) {
    // A runner that cannot hold an answer to a schema says so; it can still be asked in one go.
    if (reply.status !== 400 && reply.status !== 422) return reply
    for await (const _ of reply.bytes());
    return again(call.with({}, so.request))
  }
  const { completion } = await reply.collect()
  const tool = namedTool(completion, so.request, naming)
  const answer = await again(call.with({}, callingRequest(so.request, tool)))
  return completion.usage ? answer.through(createUsageAdder(completion.usage)) : answer
}
