import type { Host } from '../host.ts'
import { createLru, type Lru } from '../lru.ts'
import { createLedger, type Ledger } from './ledger.ts'
import type { RoutingStep } from './step.ts'

/** What one side knows: the counters, and which target has which conversation. */
export interface Books {
  readonly ledger: Ledger
  /** By conversation, the target's place in the configuration. */
  readonly homes: Lru<number>
}

const opened = new WeakMap<AbortSignal, Map<string, WeakRef<Books>>>()

/**
 * The books of one configuration on one side. Whatever is opened there over the same targets shares them: a rule that a caller's
 * directives have tightened counts where the others do.
 */
export function booksFor(step: RoutingStep, { side, closed }: Pick<Host, 'side' | 'closed'>): Books {
  const { targets, lendWindowMs, maxTenants, affinity } = step
  const held = opened.get(closed) ?? new Map<string, WeakRef<Books>>()
  opened.set(closed, held)
  const places = targets.map(({ runner, model }) => [runner, model])
  const name = JSON.stringify([side, lendWindowMs, maxTenants, affinity.maxEntries, places])
  const known = held.get(name)?.deref()
  if (known) return known
  const books: Books = {
    ledger: createLedger({ targets: targets.length, windowMs: lendWindowMs, maxTenants }),
    homes: createLru(affinity.maxEntries),
  }
  held.set(name, new WeakRef(books))
  return books
}
