import type { ClientRequest } from 'node:http'
import { GatewayError, gatewayError } from '../../plugins/errors.ts'
import { ownHeaders } from '../own-headers.ts'
import { runnerError } from '../runner-error.ts'
import { basePath, type RunnerSettings } from '../runner-settings.ts'
import type { AttemptEnd } from '../telemetry/call-span.ts'
import type { Passage } from './passthrough.ts'

/** The runner that one passed-on request goes to. */
export interface PassingLine {
  readonly runner: RunnerSettings
  /** What http-proxy is made with. Time-outs but for connecting are not: it reports them as broken connections. */
  readonly options: Readonly<Record<string, unknown>>
  /** How it went, as far as the runner's health goes. Once. */
  leave(outcome: 'healthy' | 'failed' | 'unknown'): void
}

/** What a call's trace has of its way to the runner. */
export interface PassingSpan {
  /** Trace headers, by name. */
  readonly headers: Readonly<Record<string, string>>
  /** Once; see `AttemptSpan`. */
  end(end: AttemptEnd): void
}

/** Begins the span of a request that is passed on to this runner. */
export function beginPassingSpan({ visit }: Passage, { runner }: PassingLine): PassingSpan {
  const { hostname, port, protocol } = new URL(runner.url)
  const attempt = visit.record.span.attempt({
    runner: runner.name,
    method: visit.caller.request.method ?? 'GET',
    address: hostname,
    port: Number(port) || (protocol === 'https:' ? 443 : 80),
    stream: false,
  })
  return { headers: Object.fromEntries(attempt.headers), end: (end) => attempt.end(end) }
}

/** Chooses the first runner that takes calls. Throws `runner_unreachable` when none does. */
export function openPassingLine({ visit: { setup } }: Passage): PassingLine {
  const name = setup.board.names.find((each) => setup.board.enter(each, 0))
  const runner = setup.runnerSettings.find((each) => each.name === name)
  if (!runner) throw gatewayError('runner_unreachable', 'every runner is out of rotation', { retryAfterMs: 1000 })
  let left = false
  const { tls } = runner
  return {
    runner,
    options: {
      target: new URL(runner.url).origin + basePath(runner.url),
      changeOrigin: true,
      headers: { ...runner.headers, ...(runner.apiKey ? { authorization: `Bearer ${runner.apiKey}` } : {}) },
      connectTimeout: runner.connectTimeoutMs,
      ...(tls ? { ssl: { ...tls } } : {}),
    },
    leave(outcome) {
      if (left) return
      left = true
      setup.board.leave(runner.name, 0, outcome)
    },
  }
}

/** The gateway's own headers on a passed-on answer. */
export function passedHeaders({ rooms, visit, more }: Passage): Record<string, string> {
  return { ...more, ...ownHeaders(visit, rooms.draining()), 'x-request-id': visit.caller.requestId }
}

/** The patience with one request: gives up with `runner_timeout` when its answer has not begun in time. */
export function awaitAnswer(outgoing: ClientRequest, ms: number): { readonly timedOut: boolean; stop(): void } {
  let timedOut = false
  const timer = setTimeout(() => {
    timedOut = true
    outgoing.destroy()
  }, ms)
  const stop = (): void => clearTimeout(timer)
  outgoing.on('close', stop)
  return {
    get timedOut() {
      return timedOut
    },
    stop,
  }
}

/** What broke a passed-on exchange, as our error. */
export function passingError(error: Error, { visit }: Passage, timedOut: boolean): GatewayError {
  if (visit.caller.signal.aborted) return gatewayError('client_closed', 'the caller went away', { cause: error })
  if (error instanceof GatewayError) return error
  if (timedOut) return gatewayError('runner_timeout', 'the runner did not begin to answer in time', { cause: error })
  return runnerError(error)
}

/** True when it says something of the runner's health, and nothing of what the caller sent or did. */
export function runnersFault({ code }: GatewayError): boolean {
  return code.startsWith('runner_')
}
