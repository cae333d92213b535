import { parseDictionary } from 'structured-headers'
import type { HeaderNames } from '../../plugins/headers.ts'
import type { Trial, TrialAnswer } from './examine-edge-ask.ts'

/** What can happen to an answer or a request on its way through an edge. */
export type LossKind =
  | 'status'
  | 'response-header'
  | 'request-header'
  | 'request-id'
  | 'changed'
  | 'error-page'
  | 'content-type'
  | 'cache-control'
  | 'compressed'
  | 'buffered'
  | 'trailer'
  | 'cut'

/** One thing that an edge does to what passes it. */
export interface Loss {
  readonly kind: LossKind
  /** The header, where it is one. */
  readonly name?: string
  /** What is lost, in words. */
  readonly words: string
}

/** The same trial, made directly and through an edge. */
export interface Compared {
  readonly trial: Trial
  readonly direct: TrialAnswer
  readonly via: TrialAnswer
  readonly names: HeaderNames
}

/** Everything that was there directly and is not through the edge. */
export function lossesIn(compared: Compared): readonly Loss[] {
  const { direct, via, trial, names } = compared
  if (direct.status !== via.status && via.headers[names.layerStatus] === undefined) {
    const words = `${trial.title} is answered ${via.status}, not by the gateway, which answers ${direct.status}`
    return [direct.status >= 400 ? { kind: 'error-page', words } : { kind: 'status', words }]
  }
  // The gateway itself said something else this time: only what it saw of the request can be compared.
  if (direct.status !== via.status) return requestLosses(compared)
  const about = trial.kind === 'stream' ? [...streamLosses(compared)] : []
  return [...responseLosses(compared), ...requestLosses(compared), ...bodyLosses(compared), ...about]
}

/** Headers of ours, and those of standards that we use. */
export function isOurs(name: string, names: HeaderNames): boolean {
  const { layerStatus, fallbackReason, compilationStatus, executionTime, gatewayOverhead } = names
  const { kvCacheHitRate, streamBufferSize, deprecatedLayers } = names
  const own = [layerStatus, fallbackReason, compilationStatus, executionTime, gatewayOverhead, kvCacheHitRate]
  if ([...own, streamBufferSize, deprecatedLayers, ...standard].includes(name)) return true
  return /^(x-|anthropic-)?ratelimit(-|$)/.test(name)
}
/** Headers of standards that answers may carry. */
export const standard: readonly string[] = [
  'x-request-id',
  'retry-after',
  'cache-status',
  'proxy-status',
  'server-timing',
  'deprecation',
  'sunset',
]

function responseLosses({ direct, via, names, trial }: Compared): Loss[] {
  const missing = Object.keys(direct.headers).filter((name) => isOurs(name, names) && via.headers[name] === undefined)
  const losses: Loss[] = missing.map((name) => ({
    kind: 'response-header',
    name,
    words: `the response header ${name} does not reach clients (${trial.title})`,
  }))
  const [before, after] = [direct.headers[names.layerStatus], via.headers[names.layerStatus]]
  if (before !== undefined && after !== undefined && layersIn(before) !== layersIn(after))
    losses.push({
      kind: 'changed',
      name: names.layerStatus,
      words: `${names.layerStatus} comes with other layers in it`,
    })
  const echoed = direct.headers['x-request-id'] === direct.nonce
  const other = via.headers['x-request-id']
  if (echoed && other !== undefined && other !== via.nonce) {
    const words = 'clients get another x-request-id than they sent: what they note down is not found in our logs'
    losses.push({ kind: 'request-id', name: 'x-request-id', words })
  }
  return losses
}

/** The names in a status line. */
function layersIn(line: string): string {
  return line
    .split(',')
    .map((member) => member.split('=')[0]?.trim())
    .join(' ')
}

/** What of a request the gateway has not seen, by its own word. */
function requestLosses({ direct, via, names }: Compared): Loss[] {
  const asked = names.check
  const [before, after] = [checkIn(direct.headers[asked]), checkIn(via.headers[asked])]
  if (!before) return []
  if (!after) {
    // Where headers of the same prefix come back, it was the question that got lost, not the answer.
    const lostOnTheWayIn = via.headers[names.layerStatus] !== undefined
    const words = lostOnTheWayIn
      ? `the request header ${asked} does not reach the gateway: other headers of ours will not either`
      : `${asked} does not come back: what happens to request headers cannot be told`
    return [{ kind: lostOnTheWayIn ? 'request-header' : 'response-header', name: asked, words }]
  }
  const lost = before.saw.filter((name) => !after.saw.includes(name) && name !== 'te')
  const changed = after.changed.filter((name) => !before.changed.includes(name) && name !== 'x-request-id')
  return [
    ...lost.map((name): Loss => {
      return { kind: 'request-header', name, words: `the request header ${name} does not reach the gateway` }
    }),
    ...changed.map((name): Loss => {
      return { kind: 'changed', name, words: `the request header ${name} reaches the gateway with another value` }
    }),
    ...(after.changed.includes('x-request-id') && !before.changed.includes('x-request-id') ? [replaced] : []),
  ]
}

const replaced: Loss = {
  kind: 'request-id',
  name: 'x-request-id',
  words: 'the edge puts its own x-request-id in place of the client’s',
}

/** What the gateway said of the headers of a request; undefined where it said nothing that can be read. */
function checkIn(text: string | undefined): { readonly saw: string[]; readonly changed: string[] } | undefined {
  try {
    const said = parseDictionary(text ?? '')
    const listOf = (member: string): string[] => {
      const list = said.get(member)?.[0]
      return Array.isArray(list) ? list.map(([name]) => String(name)) : []
    }
    return said.has('saw') ? { saw: listOf('saw'), changed: listOf('changed') } : undefined
  } catch {
    return undefined
  }
}

function bodyLosses({ direct, via, trial }: Compared): Loss[] {
  const losses: Loss[] = []
  const [before, after] = [mediaType(direct), mediaType(via)]
  if (before !== after && direct.status >= 400)
    losses.push({ kind: 'error-page', words: `the body of an error is replaced: ${after || 'no type'} for ${before}` })
  else if (before !== after)
    losses.push({ kind: 'content-type', words: `${trial.title} comes as ${after || 'no type'} in place of ${before}` })
  const coding = via.headers['content-encoding']
  if (coding !== undefined && direct.headers['content-encoding'] === undefined && trial.kind === 'stream')
    losses.push({ kind: 'compressed', words: `the stream is compressed (${coding}), which holds events back` })
  return losses
}

function mediaType({ headers }: TrialAnswer): string {
  return (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
}

/** Shortest time between the first and the last event, in milliseconds, from which on buffering can be told. */
export const tellingMs = 60

function* streamLosses({ direct, via, names }: Compared): Generator<Loss> {
  const kept = via.headers['cache-control'] ?? ''
  const dropped = ['no-store', 'no-transform'].filter(
    (word) => direct.headers['cache-control']?.includes(word) && !kept.includes(word),
  )
  if (dropped.length > 0) {
    const words = `cache-control of streams loses ${dropped.join(' and ')}: what is behind the edge may store or change them`
    yield { kind: 'cache-control', name: 'cache-control', words }
  }
  if (isHeldBack(direct, via)) {
    const words = `streams are held back: directly events come from ${timesOf(direct)}, through the edge from ${timesOf(via)}`
    yield { kind: 'buffered', words }
  }
  if (
    direct.text.includes('data: [DONE]') &&
    !via.text.includes('data: [DONE]') &&
    via.headers['content-encoding'] === undefined
  )
    yield { kind: 'cut', words: 'streams end before their end mark' }
  const status = names.layerStatus
  if (direct.trailers[status] !== undefined && via.trailers[status] === undefined) {
    const words = `the trailer ${status} of streams does not reach clients: the last word on layers that act during generation is lost`
    yield { kind: 'trailer', name: status, words }
  }
}

/** Everything comes at once, or after a first part all the rest does. */
function isHeldBack(direct: TrialAnswer, via: TrialAnswer): boolean {
  const [spread, left] = [direct.lastMs - direct.firstMs, via.lastMs - via.firstMs]
  if (spread < tellingMs) return false
  return left < spread / 3 || (direct.silenceMs < spread / 2 && via.silenceMs > left * 0.7)
}

function timesOf({ firstMs, lastMs, silenceMs }: TrialAnswer): string {
  return `${Math.round(firstMs)} to ${Math.round(lastMs)} ms with at most ${Math.round(silenceMs)} ms between two`
}
