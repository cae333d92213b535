import { GatewayError, gatewayError } from '../../../plugins/errors.ts'
import { type ContextRefusal, refusalFromProblem } from '../../../plugins/execution-context-refusal.ts'
import type { Clock } from '../../../plugins/host.ts'
import type { SigningKey, VerifyingKey } from '../../../plugins/jws-key.ts'
import type { Line } from '../../line.ts'
import { runnerError } from '../../runner-error.ts'

/** Under which a runner says what it can do, takes policies, and is asked what it would decide. */
export const contextPath = '/.well-known/execution-context'

/** What is asked under {@link contextPath}. */
export interface WireQuestion {
  readonly method: 'GET' | 'PUT' | 'POST'
  /** Below {@link contextPath}. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer | string
  /** It bears a signature of ours: the runner's API key does not go with it. */
  readonly signed: boolean
  /** For the whole exchange, in milliseconds. */
  readonly timeoutMs: number
}

/** What a runner answered. */
export interface WireAnswer {
  readonly status: number
  header(name: string): string | undefined
  readonly body: Buffer
  /** Set when it is the refusal of what was signed. */
  readonly refusal: ContextRefusal | undefined
}

/** The way to one runner process, and who asks on it. */
export interface Wire {
  readonly line: Line
  /** Id of this gateway. */
  readonly iss: string
  readonly key: SigningKey
  /** What the runner's acknowledgements are verified with; undefined where that key is not configured. */
  readonly ackKey: VerifyingKey | undefined
  readonly clock: Clock
  /** 128 random bits in hex. */
  randomId(): string
  /** Ends with whoever asks. */
  readonly closed: AbortSignal
}

/** What of a {@link Wire} it takes to ask. */
export type WireEnds = Pick<Wire, 'line' | 'closed'>

/** Longest answer that is read, in bytes. */
const maxBytes = 1_048_576

/**
 * Asks, and reads the whole answer, whatever its status. What may be said twice is said once more when the connection broke: after a restart
 * of the runner those that were kept are of no use. Throws `runner_*`, or `client_closed` when whoever asks is gone.
 */
export async function ask(wire: WireEnds, question: WireQuestion): Promise<WireAnswer> {
  try {
    return await askOnce(wire, question)
  } catch (reason) {
    if (question.method === 'POST' || !(reason instanceof GatewayError) || reason.code !== 'runner_error') throw reason
    return askOnce(wire, question)
  }
}

async function askOnce({ line, closed }: WireEnds, question: WireQuestion): Promise<WireAnswer> {
  const timeout = AbortSignal.timeout(question.timeoutMs)
  try {
    const answer = await line.pool.request({
      method: question.method,
      path: line.base + contextPath + question.path,
      headers: [
        ...(question.signed ? line.contextHeaders : line.headers),
        ...Object.entries(question.headers ?? {}).flat(),
      ],
      body: question.body ?? null,
      signal: AbortSignal.any([closed, timeout]),
    })
    const body = await bounded(answer.body)
    const header = (name: string): string | undefined => [answer.headers[name]].flat()[0]
    const refusal = refusalFromProblem(answer.statusCode, header('content-type'), body)
    return { status: answer.statusCode, header, body, refusal }
  } catch (cause) {
    if (closed.aborted) throw gatewayError('client_closed', 'the runner is no longer asked', { cause })
    if (timeout.aborted) throw gatewayError('runner_timeout', 'the runner did not answer in time', { cause })
    throw cause instanceof GatewayError ? cause : runnerError(cause as Error)
  }
}

async function bounded(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = []
  let length = 0
  for await (const part of body) {
    length += part.length
    if (length > maxBytes) throw gatewayError('runner_protocol', `the runner's answer is longer than ${maxBytes} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts, length)
}

/** The JSON in an answer; undefined when there is none. */
export function jsonFromAnswer({ body }: WireAnswer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}
