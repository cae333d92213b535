import type { ClientRequest, IncomingMessage } from 'node:http'
import type { Transform } from 'node:stream'
import { gatewayError } from '../../plugins/errors.ts'
import { createByteLimit } from '../byte-limit.ts'
import { forwardedHeaders } from '../forwarded-headers.ts'
import { outwardHeaders } from '../runner-reply.ts'
import type { Passage } from './passthrough.ts'
import {
  awaitAnswer,
  beginPassingSpan,
  openPassingLine,
  type PassingLine,
  passedHeaders,
  passingError,
  runnersFault,
} from './passthrough-line.ts'

/** Hands a request to http-proxy, loaded on first need. Resolves when its answer is out; throws what it failed of. */
export async function passRequest(passage: Passage): Promise<void> {
  const { visit, path } = passage
  const { request, response, signal } = visit.caller
  checkLength(request, visit.setup.config.listen.bodyLimitBytes)
  const { createProxyServer } = await import('http-proxy')
  if (signal.aborted) throw gatewayError('client_closed', 'the caller went away')
  const line = openPassingLine(passage)
  const span = beginPassingSpan(passage, line)
  request.headers = { ...forwardedHeaders(request.headers), ...span.headers }
  request.url = path.raw
  const server = createProxyServer(line.options)
  const started = visit.record.elapsedMs()
  return new Promise((resolve, reject) => {
    let outgoing: ClientRequest | undefined
    let patience: ReturnType<typeof awaitAnswer> | undefined
    let failed = false
    const fail = (error: Error): void => {
      failed = true
      const fault = passingError(error, passage, patience?.timedOut ?? false)
      line.leave(runnersFault(fault) ? 'failed' : 'unknown')
      span.end({ error: fault.code })
      reject(fault)
      outgoing?.destroy()
    }
    server.on('proxyReq', (sending) => {
      outgoing = sending
      patience = awaitAnswer(sending, line.runner.firstByteTimeoutMs)
      if (failed) sending.destroy()
    })
    server.on('proxyRes', (answer) => {
      patience?.stop()
      visit.record.runnerMs += visit.record.elapsedMs() - started
      visit.record.firstByteMs ??= visit.record.elapsedMs()
      answer.headers = answerHeaders(answer, passage)
      watchAnswer(answer, line, fail)
    })
    response.on('close', () => {
      line.leave('unknown')
      span.end(response.writableFinished ? { status: response.statusCode } : { error: 'client_closed' })
      resolve()
    })
    const buffer = limited(request, visit.setup.config.listen.bodyLimitBytes, fail)
    server.web(request, response, { buffer }, (error) => fail(error))
  })
}

/** http-proxy pipes, and a pipe notices neither silence nor that its source broke off. */
function watchAnswer(answer: IncomingMessage, line: PassingLine, fail: (error: Error) => void): void {
  let fault = gatewayError('runner_error', 'the runner broke off in the middle of its answer')
  answer.setTimeout(line.runner.idleTimeoutMs, () => {
    fault = gatewayError('runner_timeout', 'the runner fell silent in the middle of its answer')
    answer.destroy()
  })
  // Said by `close` too.
  answer.on('error', () => undefined)
  answer.on('close', () => {
    if (answer.complete) line.leave('healthy')
    else fail(fault)
  })
}

/** Throws `body_too_large` for a body that says so itself, and `invalid_request` where http-proxy would forward a wrong length. */
function checkLength({ headers, method }: IncomingMessage, limit: number): void {
  if (Number(headers['content-length'] ?? 0) > limit)
    throw gatewayError('body_too_large', 'the request body is too large')
  if ((method === 'DELETE' || method === 'OPTIONS') && headers['transfer-encoding'] !== undefined) {
    throw gatewayError('invalid_request', `a body of ${method} needs a content-length`, { status: 411 })
  }
}

const framing = ['content-length', 'content-type', 'content-encoding', 'cache-control']

function answerHeaders(answer: IncomingMessage, passage: Passage): Record<string, string> {
  const { visit } = passage
  const kept = framing.flatMap((name) => (answer.headers[name] ? [[name, String(answer.headers[name])]] : []))
  return {
    ...outwardHeaders(answer.headers, visit.setup.names),
    ...Object.fromEntries(kept),
    // Left to itself http-proxy says keep-alive, whatever the caller asked for.
    ...(visit.caller.response.shouldKeepAlive ? {} : { connection: 'close' }),
    ...passedHeaders(passage),
  }
}

function limited(request: IncomingMessage, most: number, fail: (error: Error) => void): Transform {
  const limit = createByteLimit(most)
  limit.on('error', fail)
  return request.pipe(limit)
}
