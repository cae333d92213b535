import type { Call } from '../call.ts'
import { gatewayError, gatewayErrorFrom } from '../errors.ts'
import type { Host } from '../host.ts'
import type { Acting } from '../layer.ts'
import type { Reply } from '../reply.ts'
import { pass, refuse, type Verdict } from '../verdict.ts'
import { type Account, billAtRelease, free, openAccount } from './account.ts'
import { createCharges } from './charge.ts'
import type { RateLimitConfig } from './config.ts'
import { grantFor } from './decide.ts'
import type { Shop } from './grant.ts'
import { createLedger } from './ledger.ts'
import { levelsAfter } from './levels.ts'
import { limitHeaders } from './limit-headers.ts'
import { type Limit, limitsFromConfig } from './limits.ts'
import { notesOf } from './notes.ts'
import { grantBeside } from './observe.ts'
import { billAtOnce } from './outcome.ts'
import { readsOf, readsOfLoss } from './reads.ts'
import { startRenewal } from './renewal.ts'
import { type Watching, watched } from './watch.ts'

// How many characters of output are counted at a time: few where a stream may have to be cut.
const pieces = { watching: 4096, cutting: 256 }

/** The rate limit at work, with what the gateway posts to it of calls that were limited elsewhere. */
export interface RateLimitActing extends Acting {
  /**
   * Charges a call that the runner limited to this side's counters, without judging it: one request, and the tokens that the runner says were
   * used. In the background. So the gateway's counters stand where the runner's do, and neither a fallback nor a rollback hands out a
   * second quota. Only for calls that this layer was not asked about here (an observer has charged them already) and that count: not for
   * refused or failed ones. It may wait for up to 100 ms, but never behind a decision of this side. Never throws.
   */
  charge?(call: Call, usedTokens: number): void
}

/** The half in the gateway. Throws `config_invalid` with every fault. */
export function openRateLimit(config: RateLimitConfig, host: Host): RateLimitActing {
  return actingOver(config, limitsFromConfig(config, host.declared), host)
}

/** The layer over compiled limits, whichever side it sits on. */
export function actingOver(config: RateLimitConfig, limits: readonly Limit[], host: Host): RateLimitActing {
  const shop: Shop = { limits, leaseMs: config.leaseMs, host }
  const ledger = createLedger(host)
  const renewal = startRenewal(config, ledger, host)
  const watching: Watching = { ledger, shop, host, cutStreams: config.cutStreams }
  const pieceLength = config.cutStreams ? pieces.cutting : pieces.watching
  // Calls that were decided while the store was away.
  const lost = new Set<string>()
  const follow = (posting: Promise<void>, call: Call): void => ledger.await(posting, { call, mode: 'enforce' })
  const charges = createCharges(shop, host.closed, follow)
  return {
    async decide(call, mode, reads) {
      charges.post()
      try {
        const grant = await (mode === 'enforce' ? grantFor(call, shop) : grantBeside(call, shop, reads))
        return enter(openAccount(call, mode, { grant, host, pieceLength }), watching)
      } catch (reason) {
        const error = gatewayErrorFrom(reason)
        const away = error.code === 'store_lost'
        if (away && !call.signal.aborted) lost.add(call.id)
        if (away && mode === 'enforce') host.count('rate-limit.store-lost')
        return away && host.store.onLoss === 'open' ? pass() : refuse(error)
      }
    },
    settle(call, reply, { mode }) {
      const account = ledger.open.get(call.id)
      if (!account || account.closed) return reply
      account.mode = mode
      account.answered = true
      return mode === 'enforce' ? settled(account, reply, watching) : settledBeside(account, reply, watching)
    },
    reads(call) {
      const account = ledger.open.get(call.id)
      if (account) return readsOf(account.grant)
      return lost.has(call.id) ? readsOfLoss(host.store.onLoss === 'open' ? 'open' : 'closed') : undefined
    },
    notes(call) {
      const account = ledger.open.get(call.id)
      return account && notesOf(account)
    },
    release(call) {
      lost.delete(call.id)
      const account = ledger.open.get(call.id)
      if (!account) return
      ledger.open.delete(call.id)
      if (!account.closed && !account.copied) ledger.close(account, billAtRelease(account, host))
    },
    charge(call, usedTokens) {
      try {
        charges.add(call, usedTokens)
      } catch (reason) {
        // A key field reads a body that cannot be read.
        follow(Promise.reject(reason), call)
      }
    },
    async close() {
      renewal.stop()
      charges.post()
      await ledger.settled()
    },
  }
}

function enter(account: Account, { ledger, host }: Watching): Verdict {
  const { call, mode, grant } = account
  // Who decides and refuses holds nothing; an observer's call may go on all the same.
  if (grant.refusal && mode === 'enforce') account.closed = true
  if (call.signal.aborted) {
    // Its release was called already, while the store was asked.
    ledger.close(account, free)
    return refuse(gatewayError('client_closed', 'the caller went away'))
  }
  ledger.open.set(call.id, account)
  if (!grant.refusal) return pass()
  if (mode === 'enforce') host.count('rate-limit.refused')
  return refuse(grant.refusal)
}

function settled(account: Account, reply: Reply, watching: Watching): Reply {
  const { call, grant } = account
  const bill = billAtOnce(reply)
  const levels = levelsAfter(grant.standings, bill)
  const told = reply.with({ headers: limitHeaders(levels, call.route, call.now) })
  if (!bill) return watched(told, account, watching)
  watching.ledger.close(account, bill)
  return told
}

/** For an observer: its own counters are put right as if it had decided, by what goes by on its copy. */
function settledBeside(account: Account, reply: Reply, watching: Watching): Reply {
  const bill = billAtOnce(reply)
  if (bill) watching.ledger.close(account, bill)
  // Only an answer that layers may look into is copied; for others the release says enough.
  if (bill || !reply.ok) return reply
  account.copied = true
  return watched(reply, account, watching)
}
