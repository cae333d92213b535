import { acknowledgementHeaders } from '../plugins/acknowledgement.ts'
import { errorHeaders, type GatewayError, gatewayError, gatewayErrorFrom, openaiErrorBody } from '../plugins/errors.ts'
import type { Mode } from '../plugins/layer.ts'
import type { Reply } from '../plugins/reply.ts'
import { type Seated, through } from '../plugins/stack.ts'
import { type Acknowledging, createAcknowledging } from './acknowledging.ts'
import type { Usage } from './engine.ts'
import { createInside, type Inside } from './inside.ts'
import { type OpenedCall, openCall } from './opened-call.ts'
import { bodyFromRefusal, headersFromRefusal, isRefusal, refusalFrom } from './refusal.ts'
import type { Answer, Asked, Room, Route } from './routes/route.ts'
import { errorEvent, streamHeaders } from './stream.ts'

/** A layer that only observes is not waited for any longer, in milliseconds: it is beside the call, not in it. */
const observerMs = 100

/**
 * Executes a call that bears a context: its layers in the order of the context's modes around the engine. What is answered is the reply, a
 * layer's refusal in OpenAI's dialect or the engine's own, all acknowledged; or, before anything is done, a refusal of the context.
 */
export async function execute(route: Route, asked: Asked, room: Room): Promise<Answer> {
  const opened = await openCall(asked, room, route.executes ? { routes: route.executes } : {})
  const { execution } = room
  if ('code' in opened) return execution.refused(opened)
  const { call, seats, context } = opened
  const onUsage = (usage: Usage): void => {
    if (call.parsed) execution.learn(context.shadow ? 'copy' : 'runner', call.request, usage)
  }
  const inside = createInside({ room, route, metered: meters(seats, room), enforces: enforced(seats, room), onUsage })
  const said = createSaying(opened, { inside, room })
  try {
    const turn = { inside: inside.answer, witness: said.acknowledging.witness, patienceMs: observerMs }
    const reply = await through(seats, call, { ...turn, ...(context.reads ? { reads: context.reads } : {}) })
    const streamed = reply.streamed && reply.status < 300
    return streamed ? streamedAnswer(reply, said, asked.signal) : await wholeAnswer(reply, said)
  } catch (reason) {
    const error = gatewayErrorFrom(reason)
    if (error.code === 'internal') execution.log.error({ id: context.id, reason: sayCause(error) }, 'a call has failed')
    return acknowledged(answerFromError(error), said.head({ streamed: false, failure: error }))
  }
}

/**
 * Asks the layers that a context names what they would say, without the engine and without any effect but on the state of their own side.
 * What is answered is the acknowledgement.
 */
export async function decide(asked: Asked, room: Room): Promise<Answer> {
  const opened = await openCall(asked, room, { mode: 'observe' })
  if ('code' in opened) return room.execution.refused(opened)
  const { call, seats, context } = opened
  const said = createSaying(opened, { room })
  const turn = { inside: nothingInside, witness: said.acknowledging.witness }
  // What an observer reserved is given back: no call was made.
  await through(seats, call, { ...turn, ...(context.reads ? { reads: context.reads } : {}) }).catch(() => undefined)
  return acknowledged({ status: 200, body: {} }, said.head({ streamed: false }))
}

async function nothingInside(): Promise<Reply> {
  throw gatewayError('client_closed', 'nothing is inside')
}

function meters(seats: readonly Seated<Mode>[], { execution }: Room): boolean {
  return seats.some(({ name }) => execution.layers.find((layer) => layer.name === name)?.meters)
}

/** What layers that decide here enforce of a body themselves, whatever the engine can. */
function enforced(seats: readonly Seated<Mode>[], { execution }: Room): readonly string[] {
  const deciding = new Set(seats.flatMap(({ name, mode }) => (mode === 'enforce' ? [name] : [])))
  return execution.layers.flatMap(({ name, enforces }) => (deciding.has(name) ? (enforces ?? []) : []))
}

/** The acknowledgement of one call, as text. */
interface Saying {
  readonly acknowledging: Acknowledging
  head(said: { readonly streamed: boolean; readonly failure?: GatewayError }): string
  end(said: { readonly failure?: GatewayError }): string
}

function createSaying(opened: OpenedCall, { inside, room }: { readonly inside?: Inside; readonly room: Room }): Saying {
  const { context, call, kid, seats, dir } = opened
  const { execution } = room
  const caps = execution.caps()
  const runner = {
    boot: execution.boot,
    ...(caps === undefined ? {} : { caps }),
    ...(dir === undefined ? {} : { dir }),
  }
  const acknowledging = createAcknowledging({ context, call, runner, seats, layers: execution.layers })
  const spent = () => {
    const tokens = inside?.spent()
    return tokens ? { spent: tokens } : {}
  }
  return {
    acknowledging,
    head: (said) => execution.seal(acknowledging.head({ ...said, ...spent() }), context, { part: 'head', kid }),
    end: (said) => execution.seal(acknowledging.end({ ...said, ...spent() }), context, { part: 'end', kid }),
  }
}

function acknowledged(answer: Answer, text: string): Answer {
  return { ...answer, headers: { ...answer.headers, [acknowledgementHeaders.head]: text } }
}

async function wholeAnswer(reply: Reply, said: Saying): Promise<Answer> {
  const body = await reply.whole()
  const headers = { 'content-type': 'application/json; charset=utf-8', ...reply.headers }
  return acknowledged({ status: reply.status, headers, body }, said.head({ streamed: false }))
}

/** A stream whose acknowledgement ends in a trailer; one that fails says so in band and there. */
function streamedAnswer(reply: Reply, said: Saying, signal: AbortSignal): Answer {
  let end: string | undefined
  async function* events(): AsyncGenerator<Buffer> {
    try {
      yield* reply.bytes()
      end = said.end({})
    } catch (reason) {
      const failure = signal.aborted && isRefusal(signal.reason) ? signal.reason : reason
      const error = gatewayErrorFrom(reason, 'runner_error')
      end = said.end({ failure: error })
      yield Buffer.from(
        errorEvent(isRefusal(failure) ? bodyFromRefusal(failure) : (answerFromError(error).body as object)),
      )
    }
  }
  const answer: Answer = {
    status: reply.status,
    headers: { ...reply.headers, ...streamHeaders },
    body: events(),
    trailers: { [acknowledgementHeaders.end]: () => end },
  }
  return acknowledged(answer, said.head({ streamed: true }))
}

function sayCause({ detail: { cause } }: GatewayError): string {
  return cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
}

/** The engine's own refusal as it is said without layers; everything else as a layer's, in OpenAI's dialect. */
function answerFromError(error: GatewayError): Answer {
  const { cause } = error.detail
  if (isRefusal(cause))
    return { status: cause.status, headers: headersFromRefusal(cause), body: bodyFromRefusal(refusalFrom(cause)) }
  return { status: error.status, headers: errorHeaders(error), body: openaiErrorBody(error) }
}
