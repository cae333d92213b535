import type { Call } from '../call.ts'
import { gatewayError } from '../errors.ts'
import type { Host } from '../host.ts'
import type { Acting, Mode } from '../layer.ts'
import { createLru, type Lru } from '../lru.ts'
import type { Reply, Target } from '../reply.ts'
import type { TokenEstimate } from '../tokens.ts'
import { pass, refuse, type Verdict } from '../verdict.ts'
import { conversationOf } from './affinity.ts'
import type { RoutingConfig } from './config.ts'
import { checkRouting } from './faults.ts'
import { type Account, book, bookPending, createLedger, type Ledger, standing } from './ledger.ts'
import { createMeter, type Meter } from './meter.ts'
import { type Candidate, candidatesFor, place, routingRuleFor } from './rule.ts'

/** What one mode knows: an observer keeps counters of its own and never touches those that decide. */
interface Side {
  readonly ledger: Ledger
  readonly homes: Lru<number>
}

/** A call that was placed and is not over. */
interface Placed {
  readonly mode: Mode
  readonly side: Side
  readonly accounts: readonly Account[]
  readonly candidates: readonly Candidate[]
  readonly index: number
  readonly estimate: TokenEstimate
  readonly conversation: string | undefined
  /** Set once an answer is on its way. */
  meter: Meter | undefined
  done: boolean
}

/** The gateway half. Counters live in this process; each replica converges to the shares by itself. Throws `config_invalid`. */
export function openRouting(config: RoutingConfig, host: Host): Acting {
  checkRouting(config, host.runners.names)
  const sides: Record<Mode, Side> = { enforce: createSide(config), observe: createSide(config) }
  const placed = new Map<string, Placed>()
  return {
    decide: (call, mode) => decide(call, { config, host, mode, side: sides[mode], placed }),
    ruleFor: (call) => routingRuleFor(config, call.facts, call.request.model),
    settle(call, reply) {
      const so = placed.get(call.id)
      return so ? watch(so, reply, { config, host }) : reply
    },
    release(call) {
      const so = placed.get(call.id)
      placed.delete(call.id)
      if (!so || so.done) return
      // An observer never sees the answer; its own estimate is the best it has.
      close(so, so.mode === 'observe' ? budgetOf(so) : (so.meter?.total() ?? 0))
    },
  }
}

function createSide({ targets, lendWindowMs, maxTenants, affinity }: RoutingConfig): Side {
  const ledger = createLedger({ targets: targets.length, windowMs: lendWindowMs, maxTenants })
  return { ledger, homes: createLru(affinity.maxEntries) }
}

interface Room {
  readonly config: RoutingConfig
  readonly host: Host
}

interface Desk extends Room {
  readonly mode: Mode
  readonly side: Side
  readonly placed: Map<string, Placed>
}

function decide(call: Call, desk: Desk): Verdict {
  const { config, host, mode, side, placed } = desk
  const { model } = call.request
  const { tenant = '', tier = '' } = call.facts.principal ?? {}
  const candidates = candidatesFor(config, model, tier)
  const estimate = host.tokens.estimate(call.request)
  const account = side.ledger.account(tenant, call.now)
  const fleet = side.ledger.fleet(call.now)
  const conversation = conversationOf(call, host.conversationHeader, config.affinity)
  const home = conversation === undefined ? undefined : side.homes.get(conversation)
  const placement = place({
    candidates,
    model,
    inputTokens: estimate.input,
    budgetTokens: estimate.input + estimate.output,
    owed: standing(account),
    fleet: standing(fleet),
    largest: askedForLargest(call),
    runners: config.targets.map((target) => host.runners.state(target.runner)),
    sticky: { index: home, overdraftTokens: config.affinity.overdraftTokens },
  })
  if (placement.kind === 'refuse') return refuse(gatewayError(placement.code, placement.message, placement.detail))
  const { order, chosen } = placement
  const index = (order[0] as Candidate).index
  // A call that had no choice says nothing about who should begin.
  const accounts = chosen ? [account, fleet] : [account]
  const so: Placed = { mode, side, accounts, candidates, index, estimate, conversation, meter: undefined, done: false }
  open(so)
  placed.set(call.id, so)
  return pass({ target: order.map(({ target }): Target => ({ runner: target.runner, model: target.model })) })
}

/** The cache sets it for the one repeat of an answer whose score was too low. */
function askedForLargest({ facts }: Call): boolean {
  return (facts as { readonly largest?: boolean }).largest === true
}

/** Counts the call's whole budget until it is known what it used. */
function open(so: Placed): void {
  for (const account of so.accounts) bookPending(account, so.candidates, { index: so.index, tokens: budgetOf(so) })
  if (so.conversation !== undefined) so.side.homes.set(so.conversation, so.index)
}

/** Puts what was really used in place of the budget, on the target that really served. */
function close(so: Placed, tokens: number, served: number = so.index): void {
  if (so.done) return
  so.done = true
  for (const account of so.accounts) {
    bookPending(account, so.candidates, { index: so.index, tokens: -budgetOf(so) })
    book(account, so.candidates, { index: served, tokens })
  }
}

function budgetOf({ estimate }: Placed): number {
  return estimate.input + estimate.output
}

function watch(so: Placed, reply: Reply, { config, host }: Room): Reply {
  if (!reply.ok) {
    close(so, 0)
    return reply
  }
  const { target } = reply
  const at = config.targets.findIndex((each) => each.runner === target?.runner && each.model === target.model)
  const served = at === -1 ? so.index : at
  const model = config.targets[served]?.model ?? ''
  const meter = createMeter(so.estimate.input, (text) => host.tokens.count(text, model))
  so.meter = meter
  if (so.conversation !== undefined) so.side.homes.set(so.conversation, served)
  return reply.observe({ chunk: (chunk) => meter.chunk(chunk), end: () => close(so, meter.total(), served) })
}
