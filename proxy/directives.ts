import type { Call } from '../plugins/call.ts'
import { type Directives, directiveMembers, directivesFromBody, type FoundDirectives } from '../plugins/directives.ts'
import { type GatewayError, gatewayError, gatewayErrorFrom } from '../plugins/errors.ts'
import type { HeaderNames } from '../plugins/headers.ts'
import { pass, refuse, type Verdict } from '../plugins/verdict.ts'
import type { CallRecord } from './call-record.ts'
import type { FoldSeat } from './folding/seats.ts'
import { principalTellers } from './overheard.ts'
import type { Setup } from './setup.ts'
import { readyFor, type Tightening } from './tightening.ts'

/**
 * The call with what its caller asks of the layers. Wrong directives are noted, and the operator's rules hold alone; or, where the
 * configuration says so, the call is to be refused as soon as auth knows who is calling. A body without the member is not parsed. Rules are
 * compiled only for those whom auth knows, by a seat of its own right behind it: here, where auth is on, only what auth itself is asked.
 */
export function withDirectives(call: Call, came: Buffer, around: Around): Call | Promise<Call> {
  const { config, names } = around.setup
  if (!config.directives.enabled) return call
  const members = membersUnder(names)
  const found = directivesFromBody(came, call.untouched ? { members, parse: () => call.request } : { members })
  if (!found) {
    if (isDocument(call.headers['x-execution-context'])) around.record.misplacedDirectives = true
    return call
  }
  return withFound(call, found, around)
}

async function withFound(call: Call, found: FoundDirectives, { setup, record }: Around): Promise<Call> {
  record.directed = true
  const early = [...setup.tightening].filter(([name]) => principalTellers.has(name))
  const first = early.length > 0 ? new Map(early) : setup.tightening
  const fault = 'fault' in found ? found.fault : await faultOf(found.directives, setup, first)
  if (fault === undefined && 'directives' in found) return carrying(call, found.directives)
  record.directiveRefusal = faulty(fault ?? '', { setup, record })
  return call
}

/**
 * Seats right behind auth that compile what a call's directives ask of all other layers; none where that is done already. `heard` says whether
 * auth was heard here, and knows the caller, where it is the runner that decides so.
 */
export function compilingSeats({ setup, record }: Around, heard: () => boolean): readonly FoldSeat[] {
  if (![...setup.tightening.keys()].some((name) => principalTellers.has(name))) return []
  const decide = async ({ facts: { directives } }: Call): Promise<Verdict> => {
    // Nobody here knows the caller yet: layers that are asked here all the same wait for their own rule.
    const elsewhere = [...principalTellers].some((name) => record.fold?.modes.get(name) === 'enforce')
    if (!directives || (elsewhere && !heard())) return pass()
    const fault = await faultOf(directives, setup, setup.tightening)
    if (fault === undefined) return pass()
    const refusal = faulty(fault, { setup, record })
    return refusal ? refuse(refusal) : pass({ directives: undefined })
  }
  return [{ name: 'directives', stage: 'gateway', mode: 'enforce', acting: { decide } }]
}

/** Notes that a directive does not hold. What the call is refused with, where the configuration says so. */
function faulty(path: string, { setup, record }: Around): GatewayError | undefined {
  record.directiveFault = path
  return setup.config.directives.onInvalid === 'reject' ? invalid(path) : undefined
}

const membersByNames = new WeakMap<HeaderNames, readonly string[]>()

function membersUnder(names: HeaderNames): readonly string[] {
  let members = membersByNames.get(names)
  if (!members) {
    members = [...new Set([...directiveMembers, `${names.prefix}execution-context`])]
    membersByNames.set(names, members)
  }
  return members
}

interface Around {
  readonly setup: Setup
  readonly record: CallRecord
}

/** A translated body has lost the member: the runner is to find it too. */
function carrying(call: Call, directives: Directives): Call {
  if (call.untouched) return call.with({ directives })
  return call.with({ directives }, { ...call.request, execution_context: directives })
}

/** The layers that read each member; where none of them is on, nobody would hold to what is asked. */
const readers: Readonly<Record<Exclude<keyof Directives, 'debug_force_fallback'>, readonly string[]>> = {
  routing: ['routing'],
  cache: ['cache'],
  system_prompt: ['prompt', 'postprocess'],
  output_constraints: ['postprocess'],
  auth: ['auth', 'rate-limit'],
  rate_limit: ['rate-limit'],
  safety: ['postprocess'],
  custom_safety_rules: ['postprocess'],
  post_processing_hooks: ['postprocess'],
}

async function faultOf(
  directives: Directives,
  { tightening }: Setup,
  compiling: Tightening,
): Promise<string | undefined> {
  const unread = Object.entries(readers).find(
    ([member, names]) => Object.hasOwn(directives, member) && !names.some((name) => tightening.has(name)),
  )
  if (unread) return `execution_context.${unread[0]}`
  try {
    await readyFor(directives, compiling)
    return undefined
  } catch (reason) {
    const error = gatewayErrorFrom(reason)
    if (error.code === 'internal') throw error
    return error.detail.field ?? 'execution_context'
  }
}

function invalid(path: string): GatewayError {
  return gatewayError('invalid_request', `the directive ${path} is not valid`, { field: path })
}

/** JSON, where a signed context would be: somebody put directives into the header. */
function isDocument(header: string | undefined): boolean {
  return header?.trimStart().startsWith('{') ?? false
}
