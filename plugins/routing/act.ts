import type { Call } from '../call.ts'
import { gatewayError } from '../errors.ts'
import type { LayerReads } from '../execution-context-facts.ts'
import type { Host } from '../host.ts'
import type { Acting, Mode } from '../layer.ts'
import type { Target } from '../reply.ts'
import { pass, refuse, type Verdict } from '../verdict.ts'
import { conversationOf } from './affinity.ts'
import { type Books, booksFor } from './books.ts'
import { type Account, standing } from './ledger.ts'
import { closePlaced, openPlaced, type Placed, watchPlaced } from './placed.ts'
import { readsFromQuestion, type Standing, standingFromReads } from './reads.ts'
import { type Candidate, candidatesFor, place, type RoutingQuestion, routingRuleFor } from './rule.ts'
import type { RoutingStep } from './step.ts'

/** A call that was asked about and is not over. */
interface Asked {
  readonly mode: Mode
  readonly question: RoutingQuestion
  /** Undefined when it was refused. */
  readonly placed: Placed | undefined
}

interface Desk {
  readonly step: RoutingStep
  readonly host: Host
  readonly books: Books
  readonly asked: Map<string, Asked>
}

/** The half that executes a step, on whichever side. Counters live in this process; each replica converges to the shares by itself. */
export function createRouting(step: RoutingStep, host: Host): Acting {
  const desk: Desk = { step, host, books: booksFor(step, host), asked: new Map() }
  return {
    decide: (call, mode, reads) => decide(call, desk, { mode, reads }),
    reads(call) {
      const so = desk.asked.get(call.id)
      return so && readsFromQuestion(so.question)
    },
    ruleFor: (call) => routingRuleFor(step, call.facts, call.request.model),
    settle(call, reply) {
      const so = desk.asked.get(call.id)?.placed
      return so ? watchPlaced(so, reply, { step, tokens: host.tokens }) : reply
    },
    release(call) {
      const so = desk.asked.get(call.id)
      desk.asked.delete(call.id)
      if (so?.placed && !so.placed.done) end(so.placed, so.mode, host)
    },
  }
}

function end(placed: Placed, mode: Mode, { side }: Host): void {
  const { meter } = placed
  if (mode === 'enforce') closePlaced(placed, meter?.total() ?? 0)
  // The copy of an answer that an observer is given ends a moment after the answer itself.
  else if (meter) setImmediate(() => closePlaced(placed, meter.total()))
  // Whoever works on copies never sees the answer; its own estimate is the best it has.
  else closePlaced(placed, side === 'copy' ? placed.budgetTokens : 0)
}

interface Asking {
  readonly mode: Mode
  readonly reads: LayerReads | undefined
}

function decide(call: Call, desk: Desk, { mode, reads }: Asking): Verdict {
  const { step, books, asked } = desk
  const { model } = call.request
  const { tenant = '', tier = '' } = call.facts.principal ?? {}
  const candidates = candidatesFor(step, model, tier)
  const account = books.ledger.account(tenant, call.now)
  const fleet = books.ledger.fleet(call.now)
  const conversation = conversationOf(call, step.conversationHeader, step.affinity)
  const seen =
    (reads && standingFromReads(reads, candidates)) ?? ownStanding(call, desk, { account, fleet, conversation })
  const question: RoutingQuestion = {
    ...seen,
    candidates,
    model,
    largest: askedForLargest(call),
    sticky: { index: seen.home, overdraftTokens: step.affinity.overdraftTokens },
  }
  const placement = place(question)
  if (placement.kind === 'refuse') {
    asked.set(call.id, { mode, question, placed: undefined })
    return refuse(gatewayError(placement.code, placement.message, placement.detail))
  }
  const { order, chosen } = placement
  const { inputTokens, budgetTokens } = seen
  const index = (order[0] as Candidate).index
  // A call that had no choice says nothing about who should begin.
  const accounts = chosen ? [account, fleet] : [account]
  const about = { books, accounts, candidates, index, inputTokens, budgetTokens, conversation }
  const placed: Placed = { ...about, served: index, meter: undefined, done: false }
  openPlaced(placed)
  asked.set(call.id, { mode, question, placed })
  return pass({ target: order.map(({ target }): Target => ({ runner: target.runner, model: target.model })) })
}

interface Own {
  readonly account: Account
  readonly fleet: Account
  readonly conversation: string | undefined
}

function ownStanding(call: Call, { step, host, books }: Desk, { account, fleet, conversation }: Own): Standing {
  const estimate = host.tokens.estimate(call.request)
  return {
    inputTokens: estimate.input,
    budgetTokens: estimate.input + estimate.output,
    owed: standing(account),
    fleet: standing(fleet),
    runners: step.targets.map((target) => host.runners.state(target.runner)),
    home: conversation === undefined ? undefined : books.homes.get(conversation),
  }
}

/** The cache sets it for the one repeat of an answer whose score was too low. */
function askedForLargest({ facts }: Call): boolean {
  return (facts as { readonly largest?: boolean }).largest === true
}
