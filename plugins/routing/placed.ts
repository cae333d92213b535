import type { Reply } from '../reply.ts'
import type { TokenCounter } from '../tokens.ts'
import type { Books } from './books.ts'
import { type Account, book, bookPending } from './ledger.ts'
import { createMeter, type Meter } from './meter.ts'
import type { Candidate } from './rule.ts'
import type { RoutingStep } from './step.ts'

/** A call that was placed and is not over. */
export interface Placed {
  readonly books: Books
  readonly accounts: readonly Account[]
  readonly candidates: readonly Candidate[]
  /** The target it was sent to first, by its place in the configuration. */
  readonly index: number
  readonly inputTokens: number
  readonly budgetTokens: number
  readonly conversation: string | undefined
  /** The target that answers. */
  served: number
  /** Set once an answer is on its way. */
  meter: Meter | undefined
  done: boolean
}

/** Counts the call's whole budget until it is known what it used. */
export function openPlaced(so: Placed): void {
  const { accounts, candidates, index, budgetTokens: tokens, conversation, books } = so
  for (const account of accounts) bookPending(account, candidates, { index, tokens })
  if (conversation !== undefined) books.homes.set(conversation, index)
}

/** Puts what was really used in place of the budget, on the target that really served. Once. */
export function closePlaced(so: Placed, tokens: number): void {
  if (so.done) return
  so.done = true
  for (const account of so.accounts) {
    bookPending(account, so.candidates, { index: so.index, tokens: -so.budgetTokens })
    book(account, so.candidates, { index: so.served, tokens })
  }
}

/** Counts an answer while it goes by. */
export function watchPlaced(
  so: Placed,
  reply: Reply,
  { step, tokens }: { readonly step: RoutingStep; readonly tokens: TokenCounter },
): Reply {
  if (!reply.ok) {
    closePlaced(so, 0)
    return reply
  }
  const { target } = reply
  const at = step.targets.findIndex((each) => each.runner === target?.runner && each.model === target.model)
  if (at !== -1) so.served = at
  const model = step.targets[so.served]?.model ?? ''
  const meter = createMeter(so.inputTokens, (text) => tokens.count(text, model))
  so.meter = meter
  if (so.conversation !== undefined) so.books.homes.set(so.conversation, so.served)
  return reply.observe({ chunk: (chunk) => meter.chunk(chunk), end: () => closePlaced(so, meter.total()) })
}
