import { type GatewayError, gatewayError, gatewayErrorFrom } from '../plugins/errors.ts'
import type { RunnerBoard, RunnerQuestion } from '../plugins/host.ts'
import type { Body, Engine } from './engine.ts'
import { isObject } from './fields.ts'
import { isRefusal } from './refusal.ts'
import { wholeFromPieces } from './whole.ts'
import { createEnvelope } from './wire.ts'

/** What a call is thought to cost while it is under way, in tokens. */
const tokensOfCall = 256

// Whatever a step calls this process, it is this process.
const everyName: readonly string[] = Object.assign([], { includes: () => true })

/** The runners as layers here see them: one, this process, under every name. */
export function createOwnBoard(engine: Engine): RunnerBoard {
  return {
    names: everyName,
    state() {
      const { running, queued } = engine.load()
      const available = engine.state() === 'ready'
      return {
        available,
        retryAfterMs: available ? 0 : 1_000,
        outstandingTokens: (running + queued) * tokensOfCall,
      }
    },
    ask: (question) => ask(engine, question),
  }
}

async function ask(engine: Engine, { body, timeoutMs, signal }: RunnerQuestion): Promise<string> {
  const timeout = AbortSignal.timeout(timeoutMs)
  const either = signal ? AbortSignal.any([signal, timeout]) : timeout
  const asked: Body = { ...body, stream: false }
  const envelope = createEnvelope('chat', String(asked['model'] ?? ''), false)
  try {
    const pieces = engine.generate({ kind: 'chat', body: asked, scope: 'layers' }, either)
    const { choices } = await wholeFromPieces(envelope, pieces)
    const [first] = Array.isArray(choices) ? choices : []
    const message = isObject(first) ? first['message'] : undefined
    const content = isObject(message) ? message['content'] : undefined
    if (typeof content === 'string') return content
  } catch (cause) {
    throw failureOf(cause, timeout)
  }
  throw gatewayError('runner_error', "the engine answered a layer's question without text")
}

function failureOf(cause: unknown, timeout: AbortSignal): GatewayError {
  if (timeout.aborted) return gatewayError('runner_timeout', "the engine did not answer a layer's question in time")
  if (!isRefusal(cause)) return gatewayErrorFrom(cause, 'runner_error')
  const code = cause.status === 503 ? 'runner_unreachable' : 'runner_error'
  return gatewayError(code, `the engine refused a layer's question: ${cause.code}`, { cause })
}
