import type { Call, Facts } from '../call.ts'
import { gatewayError } from '../errors.ts'
import type { Mode } from '../layer.ts'
import { answer, pass, refuse, type Verdict } from '../verdict.ts'
import type { Place } from './address.ts'
import { collapsedStatus, forwardStatus, hitStatus, pinnedStatus } from './cache-status.ts'
import type { Entry } from './entry.ts'
import type { Flight } from './flights.ts'
import type { Parts } from './parts.ts'
import { replay, replyFromEntry } from './replay.ts'
import { type BypassReason, type Judged, judge } from './rule.ts'
import { createVisit, giveUp, type Visit } from './visit.ts'
import { type Wish, wishFromHeaders } from './wish.ts'

/** A call that asks for a stored answer. */
interface Asking {
  readonly call: Call
  readonly wish: Wish
  readonly place: Place
  readonly facts: Partial<Facts>
}

/** What becomes of a call: a stored answer, or on it goes. Observing, only the key is found out, and nothing is touched. */
export function decide(parts: Parts, call: Call, mode: Mode): Verdict | Promise<Verdict> {
  const wish = wishFromHeaders(parts.config.clientHints ? call.headers : {}, parts.hintHeader)
  const inside = parts.host.insideDigest ? parts.host.insideDigest(call) : ''
  const { key, question } = judgedCall(parts, call, { wish, inside })
  const facts = { cacheKey: key }
  if (mode === 'observe') return pass(facts)
  const pinned = wish.read && parts.pins.size > 0 ? parts.pins.find(call, question) : undefined
  if (pinned) {
    parts.host.count('cache.hit')
    return answer(replay(pinned, call, { headers: { 'cache-status': pinnedStatus } }))
  }
  if ('reason' in key) return bypass(parts, { call, wish, facts }, key.reason)
  const prompt = parts.host.promptVersion?.(call) ?? (inside as string).slice(0, 16)
  const place = { digest: key.digest, route: call.route, tenant: call.facts.principal?.tenant, prompt }
  const asking = { call, wish, place, facts }
  const entry = wish.read ? parts.storage.near(key.digest, parts.host.clock.now()) : undefined
  if (entry && isYoung(parts, entry, wish)) return hit(parts, call, entry)
  return wish.read ? look(parts, asking) : goOn(parts, asking, createVisit(forwardStatus('request'), place))
}

/** The key, or why there is none: also for what the caller or the configuration rules out. */
function judgedCall(
  { rule, config }: Parts,
  call: Call,
  { wish, inside }: { readonly wish: Wish; readonly inside: string | undefined },
): Judged {
  if (!wish.read && !wish.write) return { key: { reason: 'asked' }, question: undefined }
  const judged = judge(rule, call, { inside })
  if ('reason' in judged.key || config.ttl_seconds > 0) return judged
  return { key: { reason: 'ttl-zero' }, question: judged.question }
}

function isYoung({ host }: Parts, { meta }: Entry, { maxAgeMs }: Wish): boolean {
  return host.clock.now() - meta.madeAt <= maxAgeMs
}

function bypass(parts: Parts, { call, wish, facts }: Omit<Asking, 'place'>, reason: BypassReason): Verdict {
  parts.host.count(reason === 'hash-field-absent' ? 'cache.hash-field-absent' : 'cache.bypass')
  const status = forwardStatus('bypass', reason)
  if (wish.onlyIfCached) return notCached(status)
  parts.visits.set(call.id, createVisit(status))
  return pass(facts)
}

function hit(parts: Parts, call: Call, entry: Entry): Verdict {
  parts.host.count('cache.hit')
  return answered(parts, call, { entry, status: hitStatus })
}

/** An answer that came while the call waited for it. */
function coalesced(parts: Parts, call: Call, entry: Entry): Verdict {
  parts.host.count('cache.coalesced')
  return answered(parts, call, { entry, status: collapsedStatus })
}

function answered(
  { host, config }: Parts,
  call: Call,
  { entry, status }: { readonly entry: Entry; readonly status: (ttlMs: number) => string },
): Verdict {
  const age = Math.max(0, host.clock.now() - entry.meta.madeAt)
  const left = Math.min(entry.meta.ttlMs, config.ttl_seconds * 1000) - age
  const headers = { 'cache-status': status(left), age: String(Math.floor(age / 1000)) }
  return answer(replyFromEntry(entry, call, headers))
}

function goOn({ visits, host }: Parts, { call, facts }: Asking, visit: Visit): Verdict {
  host.count('cache.miss')
  visits.set(call.id, visit)
  return pass(facts)
}

/** RFC 9111 §5.2.1.7. */
function notCached(status: string): Verdict {
  const headers = { 'cache-status': status }
  return refuse(
    gatewayError('not_found', 'no stored answer, and only a stored one was asked for', { status: 504, headers }),
  )
}

async function look(parts: Parts, asking: Asking): Promise<Verdict> {
  const { call, wish, place } = asking
  const status = forwardStatus('miss')
  const joined = wish.onlyIfCached || parts.config.coalesceWaitMs === 0 ? undefined : flightFor(parts, place)
  if (joined?.leads) return lead(parts, asking, createVisit(status, place, joined.flight))
  if (joined) return follow(parts, asking, joined.flight)
  const entry = await stored(parts, asking)
  if (entry) return hit(parts, call, entry)
  return wish.onlyIfCached ? notCached(status) : goOn(parts, asking, createVisit(status, place))
}

function flightFor({ flights, host }: Parts, { digest }: Place): { flight: Flight; leads: boolean } | undefined {
  return flights.join(digest, host.clock.now())
}

async function stored(parts: Parts, { place, wish }: Asking): Promise<Entry | undefined> {
  const entry = await parts.storage.far(place, parts.host.clock.now())
  return entry && isYoung(parts, entry, wish) ? entry : undefined
}

/** This call asks for all that wait in its flight, unless the answer is there or another replica asks already. */
async function lead(parts: Parts, asking: Asking, visit: Visit): Promise<Verdict> {
  const { call, place } = asking
  // At once, so that a caller who leaves while the store is asked hands the flight on.
  parts.visits.set(call.id, visit)
  try {
    const entry = await stored(parts, asking)
    if (entry) return arrived(parts, { call, visit, entry }, hit)
    const wait = { look: () => stored(parts, asking), waitMs: parts.config.coalesceWaitMs, signal: call.signal }
    const got = await parts.leases?.take(place.digest, wait)
    if (got && 'json' in got) return arrived(parts, { call, visit, entry: got }, coalesced)
    if (got && visit.concluded) got.end(false)
    else visit.lease = got
  } catch (reason) {
    giveUp(visit, parts.flights)
    throw reason
  }
  parts.host.count('cache.miss')
  return pass(asking.facts)
}

function arrived(
  parts: Parts,
  { call, visit, entry }: { readonly call: Call; readonly visit: Visit; readonly entry: Entry },
  say: (parts: Parts, call: Call, entry: Entry) => Verdict,
): Verdict {
  visit.concluded = true
  parts.visits.delete(call.id)
  if (visit.flight) parts.flights.land(visit.flight, entry)
  return say(parts, call, entry)
}

async function follow(parts: Parts, asking: Asking, flight: Flight): Promise<Verdict> {
  const { call, place } = asking
  const outcome = await parts.flights.wait(flight, { signal: call.signal, waitMs: parts.config.coalesceWaitMs })
  if (outcome === 'lead') {
    const visit = createVisit(forwardStatus('miss'), place, flight)
    if (!call.signal.aborted) return lead(parts, asking, visit)
    giveUp(visit, parts.flights)
    throw gatewayError('client_closed', 'the caller went away')
  }
  if (outcome === 'alone') return goOn(parts, asking, createVisit(forwardStatus('miss'), place))
  return coalesced(parts, call, outcome)
}
