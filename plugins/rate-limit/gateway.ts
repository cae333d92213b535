import type { Call } from '../call.ts'
import { gatewayErrorFrom } from '../errors.ts'
import type { Host } from '../host.ts'
import type { Acting, Mode } from '../layer.ts'
import type { Reply } from '../reply.ts'
import { pass, refuse, type Verdict } from '../verdict.ts'
import { type Account, type Bill, billFor, closeAccount, free, openAccount } from './account.ts'
import { createBudget } from './budget.ts'
import type { RateLimitConfig } from './config.ts'
import { grantFor, type Shop } from './decide.ts'
import { extension } from './extension.ts'
import { limitHeaders } from './limit-headers.ts'
import { limitsFromConfig } from './limits.ts'
import { startRenewal } from './renewal.ts'
import { levelsAfter, outcomeOf } from './settle.ts'

// How many characters of output are counted at a time: few where a stream may have to be cut.
const pieces = { watching: 4096, cutting: 256 }

/** The half in the gateway. Throws `config_invalid` with every fault. */
export function openRateLimit(config: RateLimitConfig, host: Host): Acting {
  const shop: Shop = { limits: limitsFromConfig(config, host.declared), leaseMs: config.leaseMs, host }
  const accounts = new Map<string, Account>()
  const closing = new Set<Promise<void>>()
  const close = (account: Account, bill: Bill): void => {
    if (account.closed) return
    if (bill === free && account.mode === 'enforce') host.count('rate-limit.refunded')
    const done = closeAccount(account, bill, host).catch((reason: unknown) => {
      host.count('rate-limit.store-lost')
      host.log.warn({ call: account.call.id, reason: gatewayErrorFrom(reason).code }, 'a limit could not be settled')
    })
    closing.add(done)
    void done.finally(() => closing.delete(done))
  }
  const renewal = startRenewal(accounts, shop)
  return {
    async decide(call: Call, mode: Mode): Promise<Verdict> {
      try {
        const grant = await grantFor(call, mode, shop)
        const pieceLength = config.cutStreams ? pieces.cutting : pieces.watching
        const account = openAccount(call, mode, { grant, host, pieceLength })
        if (call.signal.aborted) {
          // Its release has been called already, while the store was asked.
          close(account, free)
          return refuse(gatewayErrorFrom(new DOMException('the caller went away', 'AbortError')))
        }
        accounts.set(call.id, account)
        return pass()
      } catch (reason) {
        return verdictOn(gatewayErrorFrom(reason), { mode, host })
      }
    },
    settle(call: Call, reply: Reply): Reply {
      const account = accounts.get(call.id)
      if (!account) return reply
      account.answered = true
      const outcome = outcomeOf(reply, account)
      if (outcome.bill) close(account, outcome.bill)
      const standings = levelsAfter(account.grant.standings, outcome.bill)
      const told = reply.with({ headers: limitHeaders(standings, call.route, call.now) })
      return outcome.bill ? told : watched(told, account)
    },
    release(call: Call): void {
      const account = accounts.get(call.id)
      if (!account) return
      accounts.delete(call.id)
      close(account, billAtRelease(account))
    },
    async close() {
      renewal.stop()
      await Promise.all(closing)
    },
  }

  function watched(reply: Reply, account: Account): Reply {
    const { estimate } = account.grant
    const end = (ending: Parameters<typeof billFor>[1]): void => close(account, billFor(account, ending, host))
    if (!estimate) return reply.observe({ end })
    if (!config.cutStreams || !reply.streamed) return reply.observe({ chunk: account.meter.push, end })
    const budget = createBudget(estimate.input + estimate.output, extension(account, shop))
    const spend = (tokens: number): void => {
      try {
        budget.spend(tokens)
      } catch (reason) {
        host.count('rate-limit.cut')
        throw reason
      }
    }
    const push = (chunk: Parameters<typeof account.meter.push>[0]): typeof chunk => {
      account.meter.push(chunk)
      spend(estimate.input + account.meter.output())
      return chunk
    }
    return reply.through({ push }).observe({ end })
  }

  /** For a call that ends without its answer having ended: it never came, or the caller left; an observer never sees one. */
  function billAtRelease(account: Account): Bill {
    if (account.mode === 'observe') return asGranted(account)
    return account.answered ? billFor(account, { kind: 'aborted' }, host) : free
  }
}

function asGranted({ grant }: Account): Bill {
  const tokens = grant.held.find(({ want }) => want.quota.of === 'tokens')
  return { tokens: tokens?.cost ?? 0, requests: 1 }
}

function verdictOn(error: ReturnType<typeof gatewayErrorFrom>, { mode, host }: { mode: Mode; host: Host }): Verdict {
  if (error.code === 'store_lost') {
    if (mode === 'enforce') host.count('rate-limit.store-lost')
    return host.store.onLoss === 'open' ? pass() : refuse(error)
  }
  if (mode === 'enforce') host.count('rate-limit.refused')
  return refuse(error)
}
