import type { Call } from '../call.ts'
import { sha256 } from '../canonical.ts'
import { gatewayError } from '../errors.ts'
import type { Mode } from '../layer.ts'
import { answer, pass, refuse, type Verdict } from '../verdict.ts'
import type { Place } from './address.ts'
import { collapsedStatus, forwardStatus, hitStatus, pinnedStatus } from './cache-status.ts'
import type { Entry } from './entry.ts'
import { known } from './essence.ts'
import type { Flight } from './flights.ts'
import type { Found } from './lease.ts'
import type { Parts } from './parts.ts'
import { replay, replyFromEntry } from './replay.ts'
import { type BypassReason, type CacheKey, type Judged, judge } from './rule.ts'
import { createVisit, giveUp, type Visit } from './visit.ts'
import { type Wish, wishFromHeaders } from './wish.ts'

/** A call, what its caller wants, and its key. */
interface Keyed {
  readonly call: Call
  readonly wish: Wish
  readonly key: CacheKey
}

/** A call that asks for a stored answer. */
interface Asking extends Keyed {
  readonly place: Place
}

/** The inside digest where nothing further in has a rule, as `createInsideDigest` gives it. */
const nothingInside = sha256('')

/** What becomes of a call: a stored answer, or on it goes. An observer only finds out the key, and where the answer will belong. */
export function decide(parts: Parts, call: Call, mode: Mode): Verdict | Promise<Verdict> {
  const { host, step, pins, storage } = parts
  if (call.facts.purged) storage.learn(call.facts.purged, host.clock.now())
  const wish = wishFromHeaders(step.clientHints ? call.headers : {}, parts.hintHeader)
  const inside = host.insideDigest ? host.insideDigest(call) : nothingInside
  const { key, question } = judgedCall(parts, call, { wish, inside })
  const pinned = wish.read && pins.size > 0 ? pins.find(call, question) : undefined
  if (pinned && mode === 'enforce') {
    host.count('cache.hit')
    return known(answer(replay(pinned, call, { headers: { 'cache-status': pinnedStatus } })), key)
  }
  if ('reason' in key)
    return mode === 'enforce' ? bypass(parts, { call, wish, key }, key.reason) : pass({ cacheKey: key })
  const prompt = host.promptVersion?.(call) ?? (inside as string).slice(0, 16)
  const place = { digest: key.digest, route: call.route, tenant: call.facts.principal?.tenant, prompt }
  const asking = { call, wish, key, place }
  const near = wish.read ? storage.near(key.digest, host.clock.now()) : undefined
  const entry = near && isYoung(parts, near, wish) ? near : undefined
  if (mode === 'observe') return watch(parts, asking, pinned !== undefined || entry !== undefined)
  if (entry) return hit(parts, asking, entry)
  return wish.read ? look(parts, asking) : goOn(parts, asking, createVisit(forwardStatus('request'), place))
}

/** An observer keeps the answer that goes by, unless it would have given one itself, or none at all. */
function watch({ visits }: Parts, { call, wish, key, place }: Asking, answered: boolean): Verdict {
  if (!answered && !wish.onlyIfCached) visits.set(call.id, createVisit(forwardStatus('miss'), place))
  return pass({ cacheKey: key })
}

/** The key, or why there is none: also for what the caller or the configuration rules out. */
function judgedCall(
  { rule, step }: Parts,
  call: Call,
  { wish, inside }: { readonly wish: Wish; readonly inside: string | undefined },
): Judged {
  if (!wish.read && !wish.write) return { key: { reason: 'asked' }, question: undefined }
  const judged = judge(rule, call, { inside })
  if ('reason' in judged.key || step.ttl_seconds > 0) return judged
  return { key: { reason: 'ttl-zero' }, question: judged.question }
}

function isYoung({ host, step }: Parts, { meta }: Entry, { maxAgeMs }: Wish): boolean {
  const age = host.clock.now() - meta.madeAt
  return age <= maxAgeMs && age < step.ttl_seconds * 1000
}

function bypass(parts: Parts, { call, wish, key }: Keyed, reason: BypassReason): Verdict {
  parts.host.count(reason === 'hash-field-absent' ? 'cache.hash-field-absent' : 'cache.bypass')
  const status = forwardStatus('bypass', reason)
  if (wish.onlyIfCached) return notCached(status, key)
  parts.visits.set(call.id, createVisit(status))
  return pass({ cacheKey: key })
}

function hit(parts: Parts, asking: Asking, entry: Entry): Verdict {
  parts.host.count('cache.hit')
  return answered(parts, asking, { entry, status: hitStatus })
}

/** An answer that came while the call waited for it. */
function coalesced(parts: Parts, asking: Asking, entry: Entry): Verdict {
  parts.host.count('cache.coalesced')
  return answered(parts, asking, { entry, status: collapsedStatus })
}

function answered(
  { host, step }: Parts,
  { call, key }: Asking,
  { entry, status }: { readonly entry: Entry; readonly status: (ttlMs: number) => string },
): Verdict {
  const age = Math.max(0, host.clock.now() - entry.meta.madeAt)
  const left = Math.min(entry.meta.ttlMs, step.ttl_seconds * 1000) - age
  const headers = { 'cache-status': status(left), age: String(Math.floor(age / 1000)) }
  return known(answer(replyFromEntry(entry, call, headers)), key)
}

function goOn({ visits, host }: Parts, { call, key }: Asking, visit: Visit): Verdict {
  host.count('cache.miss')
  visits.set(call.id, visit)
  return pass({ cacheKey: key })
}

/** RFC 9111 §5.2.1.7. */
function notCached(status: string, key: CacheKey): Verdict {
  const headers = { 'cache-status': status }
  const message = 'no stored answer, and only a stored one was asked for'
  return known(refuse(gatewayError('not_found', message, { status: 504, headers })), key)
}

async function look(parts: Parts, asking: Asking): Promise<Verdict> {
  const { wish, place, key } = asking
  const status = forwardStatus('miss')
  const joined = wish.onlyIfCached || parts.step.coalesceWaitMs === 0 ? undefined : flightFor(parts, place)
  if (joined?.leads) return lead(parts, asking, createVisit(status, place, joined.flight))
  if (joined) return follow(parts, asking, joined.flight)
  const entry = await stored(parts, asking)
  if (entry) return hit(parts, asking, entry)
  return wish.onlyIfCached ? notCached(status, key) : goOn(parts, asking, createVisit(status, place))
}

function flightFor({ flights, host }: Parts, { digest }: Place): { flight: Flight; leads: boolean } | undefined {
  return flights.join(digest, host.clock.now())
}

async function stored(parts: Parts, { place, wish }: Asking): Promise<Entry | undefined> {
  const entry = await parts.storage.far(place, parts.host.clock.now())
  return entry && isYoung(parts, entry, wish) ? entry : undefined
}

async function foundAtOnce(parts: Parts, asking: Asking): Promise<Found | undefined> {
  const entry = await stored(parts, asking)
  return entry && { entry, first: true }
}

/** This call asks for all that wait in its flight, unless the answer is there or another replica asks already. */
async function lead(parts: Parts, asking: Asking, visit: Visit): Promise<Verdict> {
  const { call, place } = asking
  // At once, so that a caller who leaves while the store is asked hands the flight on.
  parts.visits.set(call.id, visit)
  try {
    const wait = { look: () => stored(parts, asking), waitMs: parts.step.coalesceWaitMs, signal: call.signal }
    const got = parts.leases ? await parts.leases.take(place.digest, wait) : await foundAtOnce(parts, asking)
    if (got && 'entry' in got) return arrived(parts, { asking, visit, entry: got.entry }, got.first ? hit : coalesced)
    if (got && visit.concluded) got.end(false)
    else visit.lease = got
  } catch (reason) {
    giveUp(visit, parts.flights)
    throw reason
  }
  parts.host.count('cache.miss')
  return pass({ cacheKey: asking.key })
}

function arrived(
  parts: Parts,
  { asking, visit, entry }: { readonly asking: Asking; readonly visit: Visit; readonly entry: Entry },
  say: (parts: Parts, asking: Asking, entry: Entry) => Verdict,
): Verdict {
  visit.concluded = true
  parts.visits.delete(asking.call.id)
  if (visit.flight) parts.flights.land(visit.flight, entry)
  return say(parts, asking, entry)
}

async function follow(parts: Parts, asking: Asking, flight: Flight): Promise<Verdict> {
  const { call, place } = asking
  const outcome = await parts.flights.wait(flight, { signal: call.signal, waitMs: parts.step.coalesceWaitMs })
  if (outcome === 'lead') {
    const visit = createVisit(forwardStatus('miss'), place, flight)
    if (!call.signal.aborted) return lead(parts, asking, visit)
    giveUp(visit, parts.flights)
    throw gatewayError('client_closed', 'the caller went away')
  }
  if (outcome === 'alone') return goOn(parts, asking, createVisit(forwardStatus('miss'), place))
  return coalesced(parts, asking, outcome)
}
