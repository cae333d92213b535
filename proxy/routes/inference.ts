import type { Call } from '../../plugins/call.ts'
import type { GatewayError } from '../../plugins/errors.ts'
import type { Reply } from '../../plugins/reply.ts'
import { pass, refuse, type Verdict } from '../../plugins/verdict.ts'
import { type Answer, writeAnswer } from '../answer.ts'
import { compilingSeats, withDirectives } from '../directives.ts'
import type { Legacy } from '../legacy/legacy.ts'
import { serveLegacy } from '../legacy/serve-legacy.ts'
import { behindAuth, overhear } from '../overheard.ts'
import type { Rooms } from '../rooms.ts'
import { type Service, serve } from '../serve.ts'
import type { Setup } from '../setup.ts'
import { degradedHeader, withoutStream } from '../unstreamed.ts'
import { beginVisit, callOf, finish, frameOf, type Http, type Visit, type VisitKind } from '../visit.ts'

/** One kind of call: its route, the dialect of its errors, and how HTTP becomes a call and a reply becomes HTTP again. */
export interface InferenceRoute extends VisitKind {
  /** The call as layers see it. Absent: the body is already in the common shape and stays raw. */
  toCall?(call: Call): Call
  /** The reply in the route's own shape. */
  toAnswer(reply: Reply, call: Call): Answer | Promise<Answer>
}

/** Serves one request of an inference route, from the first header to the last byte. Never throws. */
export async function serveInference(rooms: Rooms, kind: InferenceRoute, inbound: Inbound): Promise<void> {
  const visit = beginVisit(rooms, kind, inbound)
  const error = visit.setup.legacy
    ? await byLegacy(rooms, kind, { visit, legacy: visit.setup.legacy, body: inbound.body })
    : await ours(rooms, kind, { visit, body: inbound.body })
  finish(rooms, visit, error)
}

interface Serving {
  readonly visit: Visit
  readonly body: Buffer
}

function ours(rooms: Rooms, kind: InferenceRoute, { visit, body }: Serving): Promise<GatewayError | undefined> {
  return writeAnswer(frameOf(rooms, visit), async () => {
    const call = callOf(visit, body)
    const directed = withDirectives(kind.toCall?.(call) ?? call, body, visit)
    const seen = directed instanceof Promise ? await directed : directed
    const plain = rooms.unstreamed() ? withoutStream(seen, degradedHeaderOf(visit.setup)) : undefined
    const served = await serve(serviceFor(visit, seen), plain?.call ?? seen, visit.record)
    const reply = rooms.looks.at(served, visit.record)
    const answer = await kind.toAnswer((await plain?.streamed(reply)) ?? reply, seen)
    return visit.setup.folding.copies?.heard(answer, visit.record) ?? answer
  })
}

const degradedHeaderOf = ({ config }: Setup): string => `${config.headers.prefix}${degradedHeader}`

/** What our layers cannot read, the chain may: they are asked about the body as it came. */
function byLegacy(
  rooms: Rooms,
  kind: InferenceRoute,
  { visit, legacy, body }: Serving & { readonly legacy: Legacy },
): Promise<GatewayError | undefined> {
  const call = callOf(visit, body)
  let seen = call
  try {
    seen = kind.toCall?.(call) ?? call
  } catch {
    // The chain says what is wrong with it.
  }
  return serveLegacy(rooms, visit, { legacy, body, call: seen })
}

/** Who asks for a fallback must have the right to debug: that hangs on scopes, which the gateway half of auth is then heard for. */
function serviceFor({ setup, record }: Visit, call: Call): Service {
  if (record.directiveRefusal) return refusing(setup, record.directiveRefusal)
  if (!call.facts.directives) return setup
  const { access, directives } = setup.config
  const { debugScope } = access
  const forces = debugScope !== null && call.facts.directives.debug_force_fallback === true
  if (!forces && directives.onInvalid !== 'reject')
    return behindAuth(
      setup,
      compilingSeats({ setup, record }, () => false),
    )
  const knows = (): boolean => heard.overheard.principal !== undefined
  const heard = overhear(setup, compilingSeats({ setup, record }, knows))
  if (!forces) return heard.setup
  record.forced = () => heard.overheard.principal?.scopes.includes(debugScope) ?? false
  return heard.setup
}

/** Refuses right behind auth, and only whom auth knows: others are to hear no more than that they are unknown. Without auth, at once. */
function refusing(setup: Setup, error: GatewayError): Service {
  if (!setup.acting.has('auth')) throw error
  const decide = (): Verdict => (heard.overheard.principal ? refuse(error) : pass())
  const heard = overhear(setup, [{ name: 'directives', stage: 'gateway', mode: 'enforce', acting: { decide } }])
  return heard.setup
}

/** A request whose body has been read. */
export interface Inbound extends Http {
  readonly body: Buffer
}
