import { gatewayErrorFrom } from '../errors.ts'
import type { Host } from '../host.ts'
import { type Account, type Bill, closeAccount, free } from './account.ts'

/** The accounts of the calls under way. */
export interface Ledger {
  readonly open: Map<string, Account>
  /** Closes an account with what its call costs, in the background; only the first time. */
  close(account: Account, bill: Bill): void
  /** Resolves when everything closed so far is settled. */
  settled(): Promise<void>
}

/** Makes a {@link Ledger}. What cannot be settled is logged and counted; the next calls of that limit are held a little shorter for it. */
export function createLedger(host: Host): Ledger {
  const closing = new Set<Promise<void>>()
  return {
    open: new Map(),
    close(account, bill) {
      if (account.closed) return
      if (bill === free && account.mode === 'enforce') host.count('rate-limit.refunded')
      const done = closeAccount(account, bill, host).catch((reason: unknown) => {
        host.count('rate-limit.store-lost')
        host.log.warn({ call: account.call.id, code: gatewayErrorFrom(reason).code }, 'a limit could not be settled')
      })
      closing.add(done)
      void done.then(() => closing.delete(done))
    },
    async settled() {
      await Promise.all(closing)
    },
  }
}
