import { gatewayErrorFrom } from '../errors.ts'
import type { Host } from '../host.ts'
import { type Account, type Bill, closeAccount, free } from './account.ts'

/** The accounts of the calls under way. */
export interface Ledger {
  readonly open: Map<string, Account>
  /** Closes an account with what its call costs, in the background; only the first time. */
  close(account: Account, bill: Bill): void
  /** Waits for a change of the limits of a call, in the background. */
  await(change: Promise<void>, about: Pick<Account, 'call' | 'mode'>): void
  /** Resolves when everything closed so far is settled. */
  settled(): Promise<void>
}

/** Makes a {@link Ledger}. What cannot be settled is logged and counted; the next calls of that limit are held a little shorter for it. */
export function createLedger(host: Host): Ledger {
  const closing = new Set<Promise<void>>()
  const wait: Ledger['await'] = (change, { call, mode }) => {
    const done = change.catch((reason: unknown) => {
      if (mode === 'enforce') host.count('rate-limit.store-lost')
      host.log.warn({ call: call.id, code: gatewayErrorFrom(reason).code }, 'a limit could not be settled')
    })
    closing.add(done)
    void done.then(() => closing.delete(done))
  }
  return {
    open: new Map(),
    await: wait,
    close(account, bill) {
      if (account.closed) return
      if (bill === free && account.mode === 'enforce') host.count('rate-limit.refunded')
      account.bill = bill
      wait(closeAccount(account, bill, host), account)
    },
    async settled() {
      await Promise.all(closing)
    },
  }
}
