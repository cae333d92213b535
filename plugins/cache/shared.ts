import type { Host } from '../host.ts'
import { createFlights, type Flights } from './flights.ts'
import type { CacheStep } from './step.ts'
import { createStorage, type Storage } from './storage.ts'

/** What all halves of one side have in common: the answers, and the questions that are under way. */
export interface Shared {
  readonly storage: Storage
  readonly flights: Flights
}

const opened = new WeakMap<AbortSignal, Map<string, WeakRef<Shared>>>()

/**
 * What one configuration has on one side. Whatever is opened there with the same bounds shares it: a rule that a caller's directives have
 * tightened costs no memory of its own, and a purge reaches it.
 */
export function sharedFor(step: CacheStep, host: Host): Shared {
  const { maxBytes, maxEntryBytes, localTtlMs, ttl_seconds } = step
  const held = opened.get(host.closed) ?? new Map<string, WeakRef<Shared>>()
  opened.set(host.closed, held)
  const name = JSON.stringify([host.side, maxBytes, maxEntryBytes, localTtlMs])
  const shared = held.get(name)?.deref() ?? { storage: createStorage(step, host), flights: createFlights() }
  held.set(name, new WeakRef(shared))
  shared.storage.keepFor(ttl_seconds * 1000)
  return shared
}
