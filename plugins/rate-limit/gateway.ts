import type { Call } from '../call.ts'
import { type GatewayError, gatewayError, gatewayErrorFrom } from '../errors.ts'
import type { Host } from '../host.ts'
import type { Acting, Mode } from '../layer.ts'
import { pass, refuse, type Verdict } from '../verdict.ts'
import { billAtRelease, free, openAccount } from './account.ts'
import type { RateLimitConfig } from './config.ts'
import { grantFor, type Shop } from './decide.ts'
import { createLedger, type Ledger } from './ledger.ts'
import { levelsAfter } from './levels.ts'
import { limitHeaders } from './limit-headers.ts'
import { limitsFromConfig } from './limits.ts'
import { billAtOnce } from './outcome.ts'
import { startRenewal } from './renewal.ts'
import { watched } from './watch.ts'

// How many characters of output are counted at a time: few where a stream may have to be cut.
const pieces = { watching: 4096, cutting: 256 }

/** The half in the gateway. Throws `config_invalid` with every fault. */
export function openRateLimit(config: RateLimitConfig, host: Host): Acting {
  const shop: Shop = { limits: limitsFromConfig(config, host.declared), leaseMs: config.leaseMs, host }
  const ledger = createLedger(host)
  const renewal = startRenewal(config, ledger, host)
  const watching = { ledger, shop, host, cutStreams: config.cutStreams }
  const pieceLength = config.cutStreams ? pieces.cutting : pieces.watching
  return {
    async decide(call, mode) {
      try {
        const grant = await grantFor(call, mode, shop)
        return enter(ledger, openAccount(call, mode, { grant, host, pieceLength }))
      } catch (reason) {
        return verdictOn(gatewayErrorFrom(reason), mode, host)
      }
    },
    settle(call, reply) {
      const account = ledger.open.get(call.id)
      if (!account) return reply
      account.answered = true
      const bill = billAtOnce(reply)
      const levels = levelsAfter(account.grant.standings, bill)
      const told = reply.with({ headers: limitHeaders(levels, call.route, call.now) })
      if (!bill) return watched(told, account, watching)
      ledger.close(account, bill)
      return told
    },
    release(call: Call) {
      const account = ledger.open.get(call.id)
      if (!account) return
      ledger.open.delete(call.id)
      if (!account.closed) ledger.close(account, billAtRelease(account, host))
    },
    async close() {
      renewal.stop()
      await ledger.settled()
    },
  }
}

function enter(ledger: Ledger, account: Parameters<Ledger['close']>[0]): Verdict {
  const { call } = account
  if (call.signal.aborted) {
    // Its release was called already, while the store was asked.
    ledger.close(account, free)
    return refuse(gatewayError('client_closed', 'the caller went away'))
  }
  ledger.open.set(call.id, account)
  return pass()
}

function verdictOn(error: GatewayError, mode: Mode, host: Host): Verdict {
  const lost = error.code === 'store_lost'
  const limited = error.code === 'rate_limited' || error.code === 'exceeds_rate_limit'
  if (mode === 'enforce' && lost) host.count('rate-limit.store-lost')
  if (mode === 'enforce' && limited) host.count('rate-limit.refused')
  return lost && host.store.onLoss === 'open' ? pass() : refuse(error)
}
