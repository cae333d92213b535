import type { Call } from '../plugins/call.ts'
import { type ErrorCode, type GatewayError, gatewayError, gatewayErrorFrom } from '../plugins/errors.ts'
import type { HeaderNames } from '../plugins/headers.ts'
import type { RunnerQuestion } from '../plugins/host.ts'
import { type Reply, replyFromBytes, type Target } from '../plugins/reply.ts'
import { exchangeWithRunner, isFolded } from './attempt-exchange.ts'
import { send } from './exchange.ts'
import { replyContextOf } from './folding/folded-reply.ts'
import type { Instance } from './folding/processes/instance.ts'
import { type Line, runnerPaths } from './line.ts'
import { asksForUsage } from './outgoing-body.ts'
import type { CallOptions } from './runner-client.ts'
import { replyFromExchange } from './runner-reply.ts'

/** One try at one runner, watched. */
export interface AttemptWatch {
  /** Trace headers that go with the request that is to be sent now. */
  readonly headers: readonly (readonly [string, string])[]
  /** The same is asked once more, after this came of it: a span of its own, and `headers` are new. */
  again(came: { readonly status?: number; readonly error?: ErrorCode }): void
  /** Called once, when its answer has ended. */
  end(result: { readonly status?: number; readonly error?: GatewayError }): void
}

/** Where one try goes, for those who watch. */
export interface AttemptPlace {
  readonly target: Target
  /** Host name and port of the runner. */
  readonly address: string
  readonly port: number
  readonly streamed: boolean
}

/** The call that is tried, and what it brings along. */
export interface Attempt {
  readonly call: Call
  readonly options: CallOptions
  readonly names: HeaderNames
  /** The runner process that the line leads to, where it is one that executes layers. */
  readonly instance: Instance | undefined
}

// How long a preamble without content may be held back, so that another runner could still take over.
const holdMs = 1000

/** Sends the call to one target. Nothing has gone out to the caller when it throws. */
export async function attemptOnce(line: Line, target: Target, attempt: Attempt): Promise<Reply> {
  const { call, names, options } = attempt
  const blind = isFolded(options) && !call.parsed
  const streamed = call.route !== 'embeddings' && (blind ? seemsStreamed(call.body) : wantsStream(call))
  const watch = options.watch({ target, address: line.address, port: line.port, streamed })
  let status: number | undefined
  try {
    const asked = await exchangeWithRunner(line, target, { attempt, watch })
    const { exchange, folded } = asked
    status = exchange.status
    const { maxEventBytes, maxBodyBytes } = line.settings
    // What nobody here has read, the runner has answered as it was asked.
    const includeUsage = blind || (streamed && asksForUsage(call.request))
    const context = { target, streamed, includeUsage, names, maxEventBytes, maxBodyBytes, holdMs }
    const reply = await replyFromExchange(exchange, folded ? replyContextOf(context, folded, blind) : context)
    return reply.observe({
      end(ending) {
        if (folded) options.folding?.ended(folded, ending, call)
        watch.end({ status: exchange.status, ...(ending.kind === 'complete' ? {} : { error: errorOf(ending) }) })
      },
    })
  } catch (reason) {
    const error = gatewayErrorFrom(reason, 'runner_error')
    watch.end({ error, ...(status === undefined ? {} : { status }) })
    throw error
  }
}

function errorOf(ending: { kind: 'failed'; error: unknown } | { kind: 'aborted' }): GatewayError {
  return ending.kind === 'failed'
    ? gatewayErrorFrom(ending.error, 'runner_error')
    : gatewayError('client_closed', 'the caller went away')
}

/**
 * Whether the caller wants a stream, without parsing the body for it: the member's name must stand in the bytes, and only then is
 * the body read.
 */
function wantsStream(call: Call): boolean {
  // Up to seven bytes Node looks for at memory speed; the eighth would cost ten times as much.
  return call.body.includes('"strea') && call.request.stream === true
}

const streamMember = Buffer.from('"stream"')

/** Whether a body that nobody has read looks like asking for a stream. Only for those who watch: the answer itself says what it is. */
function seemsStreamed(body: Buffer): boolean {
  const at = body.indexOf(streamMember)
  return at >= 0 && /^\s*:\s*true/.test(body.toString('latin1', at + 8, at + 24))
}

/** Asks one question on a layer's own account and gives back the answer's text. */
export async function askOnce(line: Line, question: RunnerQuestion): Promise<string> {
  const timeout = AbortSignal.timeout(question.timeoutMs)
  const signal = question.signal ? AbortSignal.any([question.signal, timeout]) : timeout
  const exchange = await send(line.pool, {
    method: 'POST',
    path: line.base + runnerPaths.chat,
    headers: [...line.headers, 'content-type', 'application/json'],
    body: Buffer.from(JSON.stringify({ ...question.body, stream: false })),
    signal,
  })
  const reply = replyFromBytes({ status: exchange.status, streamed: false, source: 'runner' }, 'json', exchange.body)
  const { completion } = await reply.collect()
  const content = completion.choices?.[0]?.message?.content
  if (exchange.status !== 200 || typeof content !== 'string') {
    throw gatewayError('runner_error', `the runner answered ${exchange.status} to a layer's question`)
  }
  return content
}
