import type { Call } from '../plugins/call.ts'
import { directiveMembers } from '../plugins/directives.ts'
import type { Target } from '../plugins/reply.ts'
import { wholeBody } from '../plugins/reply-bytes.ts'
import type { Attempt, AttemptWatch } from './attempt.ts'
import { type Exchange, type Outgoing, sendFresh } from './exchange.ts'
import type { FoldedExchange } from './folding/send.ts'
import { type Line, runnerPaths } from './line.ts'
import { asksForUsage, type BodyWishes, bodyForTarget } from './outgoing-body.ts'
import type { CallOptions, Folding } from './runner-client.ts'

/** What a runner answered, and what it acknowledged where the call came with a context. */
export interface Asked {
  readonly exchange: Exchange
  readonly folded?: FoldedExchange
}

/** One try, and who watches it. */
export interface Watched {
  readonly attempt: Attempt
  readonly watch: AttemptWatch
}

/**
 * Asks for usage where a layer, or the translation of a message stream, reads it. A server that refuses what it was asked beyond the
 * caller's own words, or what is enforced here anyway, is asked once more without it.
 */
export function exchangeWithRunner(line: Line, target: Target, watched: Watched): Promise<Asked> {
  const { call, options } = watched.attempt
  const without = options.directed && !isFolded(options) ? directiveMembers : nothing
  const wishes = { model: target.model || undefined, usage: usageWish(line, call, options.meter), without }
  return askWith(line, bodyForTarget(call, wishes), watched).then((asked) =>
    isRefused(asked) ? milderAsked(line, { asked, wishes }, watched) : asked,
  )
}

function isRefused({ exchange: { status } }: Asked): boolean {
  return status === 400 || status === 422
}

interface AskedSo {
  readonly asked: Asked
  readonly wishes: BodyWishes
}

/** What came of asking for less, where the refusal names what can be given up; else the refusal. */
async function milderAsked(line: Line, { asked, wishes }: AskedSo, { attempt, watch }: Watched): Promise<Asked> {
  const { call, options } = attempt
  const { status, body } = asked.exchange
  const givable = options.enforces.filter((member) => call.body.includes(`"${member}"`))
  if (wishes.usage === 'as-asked' && givable.length === 0) return asked
  const said = await wholeBody(body)
  const milder = milderWishes(said.toString('latin1'), { wishes, line, call, givable })
  if (!milder) return { ...asked, exchange: { ...asked.exchange, ...readAlready(said) } }
  watch.again({ status })
  return askWith(line, bodyForTarget(call, milder), { attempt, watch })
}

/** Sends the bytes: with a context where the runner is to act, and otherwise with the gateway's own key. */
function askWith(line: Line, body: Buffer, watched: Watched): Promise<Asked> {
  const { call, options } = watched.attempt
  if (isFolded(options)) return askWithContext(line, body, watched)
  return sent(line, watched, () =>
    requestTo(line, call, { body, headers: headersOf(line.headers, call, watched.watch) }),
  ).then((exchange) => ({ exchange }))
}

async function askWithContext(line: Line, body: Buffer, watched: Watched): Promise<Asked> {
  const { attempt, watch } = watched
  const { call, instance } = attempt
  const folding = attempt.options.folding as Folding
  const folded = await folding.send(
    { call, fold: folding.fold, instance },
    {
      body,
      send: (seal) =>
        sent(line, watched, () => {
          const headers = headersOf(line.contextHeaders, call, watch)
          headers.push(...seal())
          return requestTo(line, call, { body, headers })
        }),
      again: (status) => watch.again({ status }),
    },
  )
  folding.fold.said = folded.said
  return { exchange: folding.tapped(folded, { body, idleMs: line.settings.idleTimeoutMs }), folded }
}

function requestTo(
  { settings, base }: Line,
  { route, signal }: Call,
  what: Pick<Outgoing, 'headers' | 'body'>,
): Outgoing {
  const patience = { firstByteMs: settings.firstByteTimeoutMs, idleMs: settings.idleTimeoutMs }
  return { method: 'POST', path: base + runnerPaths[route], signal, patience, ...what }
}

function sent({ pool }: Line, { watch }: Watched, make: () => Outgoing): Promise<Exchange> {
  return sendFresh(pool, make(), () => {
    watch.again({ error: 'runner_error' })
    return make()
  })
}

const nothing: readonly string[] = []

interface Refused {
  readonly wishes: BodyWishes
  readonly line: Line
  readonly call: Call
  readonly givable: readonly string[]
}

/** What to ask instead, when the refusal names something that can be given up; a server without `stream_options` is remembered. */
function milderWishes(refusal: string, { wishes, line, call, givable }: Refused): BodyWishes | undefined {
  const without = [...wishes.without, ...givable.filter((member) => refusal.includes(member))]
  const usage = withoutUsage(call)
  const ours = call.route === 'messages' || !asksForUsage(call.request)
  const dropsUsage = ours && wishes.usage !== usage && /stream_options|include_usage/.test(refusal)
  if (dropsUsage) line.refusesUsage = true
  if (!dropsUsage && without.length === wishes.without.length) return undefined
  return { ...wishes, without, ...(dropsUsage ? { usage } : {}) }
}

function usageWish({ refusesUsage }: Line, call: Call, meter: boolean): BodyWishes['usage'] {
  const wants = call.route === 'messages' || (meter && call.route !== 'embeddings')
  return wants && !refusesUsage ? 'always' : withoutUsage(call)
}

/** What a caller asked for by itself stays; in a message stream the translation did. */
function withoutUsage({ route }: Call): BodyWishes['usage'] {
  return route === 'messages' ? 'never' : 'as-asked'
}

function readAlready(body: Buffer): Pick<Exchange, 'body' | 'whole' | 'firstByte' | 'drop'> {
  const parts = async function* () {
    yield body
  }
  return { body: parts(), whole: async () => body, firstByte: async () => body[0] ?? -1, drop: () => undefined }
}

function headersOf(own: readonly string[], call: Call, watch: AttemptWatch): string[] {
  const headers = [...own, 'content-type', 'application/json', 'accept', 'application/json, text/event-stream']
  const requestId = call.headers['x-request-id']
  if (requestId) headers.push('x-request-id', requestId)
  for (const [name, value] of watch.headers) headers.push(name, value)
  return headers
}

/** Some layer acts at the runner: the call goes with a context. */
export function isFolded({ folding }: CallOptions): boolean {
  return folding !== undefined && folding.fold.modes.size > 0
}
