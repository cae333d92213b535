import { createLru } from '../lru.ts'
import type { Candidate } from './rule.ts'

/** Tokens each target is below (positive) or above its share of one tenant. They add up to zero. */
export interface Account {
  readonly owed: Float64Array
  /** The same for calls under way, by their budgets; it does not fade, since it is taken back in full. */
  readonly pending: Float64Array
  /** Largest call so far, in tokens: so much is never forgotten, or rare callers would always begin anew. */
  keep: number
  /** When it was last looked at, in milliseconds since the epoch. */
  at: number
}

/**
 * The deficit counters of one side, kept in this process's memory. What is lost (a restart, a tenant pushed out) starts at zero, which is
 * exactly the configured shares.
 */
export interface Ledger {
  /** The tenant's account, faded to `now`. */
  account(tenant: string, now: number): Account
  /** The account over all tenants. */
  fleet(now: number): Account
}

/** What a {@link Ledger} starts from. */
export interface LedgerInit {
  readonly targets: number
  readonly windowMs: number
  readonly maxTenants: number
}

/** Makes a {@link Ledger}. */
export function createLedger({ targets, windowMs, maxTenants }: LedgerInit): Ledger {
  const tenants = createLru<Account>(maxTenants)
  const all = newAccount(targets)
  return {
    account(tenant, now) {
      let account = tenants.get(tenant)
      if (!account) {
        account = newAccount(targets)
        tenants.set(tenant, account)
      }
      fade(account, now, windowMs)
      return account
    },
    fleet(now) {
      fade(all, now, windowMs)
      return all
    },
  }
}

function newAccount(targets: number): Account {
  return { owed: new Float64Array(targets), pending: new Float64Array(targets), keep: 0, at: 0 }
}

/** Forgets, over the window, what is owed beyond the size of one call. */
function fade(account: Account, now: number, windowMs: number): void {
  const elapsed = Math.max(0, now - account.at)
  account.at = Math.max(account.at, now)
  if (elapsed === 0) return
  let most = 0
  for (const owed of account.owed) most = Math.max(most, Math.abs(owed))
  if (most <= account.keep) return
  const factor = Math.max(Math.exp(-elapsed / windowMs), account.keep / most)
  for (let i = 0; i < account.owed.length; i++) account.owed[i] = (account.owed[i] ?? 0) * factor
}

/** Where each target stands, calls under way included. */
export function standing({ owed, pending }: Account): readonly number[] {
  return Array.from(owed, (each, index) => each + (pending[index] ?? 0))
}

/** Tokens, and the target that used them by its place in the configuration. */
export interface Used {
  readonly index: number
  readonly tokens: number
}

/** Books tokens that one target used: every candidate is credited its share, the target is debited all of it. */
export function book(account: Account, candidates: readonly Candidate[], used: Used): void {
  post(account.owed, candidates, used)
  account.keep = Math.max(account.keep, used.tokens)
}

/** Books the budget of a call under way; negative tokens take it back. */
export function bookPending(account: Account, candidates: readonly Candidate[], used: Used): void {
  post(account.pending, candidates, used)
}

function post(counters: Float64Array, candidates: readonly Candidate[], { index, tokens }: Used): void {
  for (const each of candidates) counters[each.index] = (counters[each.index] ?? 0) + each.share * tokens
  counters[index] = (counters[index] ?? 0) - tokens
}
