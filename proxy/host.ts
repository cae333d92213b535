import { Agent, type Dispatcher, request } from 'undici'
import { boundedBody } from '../plugins/bounded-body.ts'
import { gatewayError } from '../plugins/errors.ts'
import type { Http, HttpRequest } from '../plugins/host.ts'
import { runnerError } from './runner-error.ts'

const mebibyte = 1024 * 1024

/** HTTP to what an operator configured beside the runners: JWKS, profiles, scorers, webhooks. No redirect is followed. */
export function createHttp(): Http & { close(): Promise<void> } {
  const agent = new Agent({ keepAliveTimeout: 4000, connections: 64 })
  return {
    async send(url, outgoing) {
      const timeout = AbortSignal.timeout(outgoing.timeoutMs)
      const signal = outgoing.signal ? AbortSignal.any([outgoing.signal, timeout]) : timeout
      try {
        const answer = await request(url, { dispatcher: agent, signal, ...sent(outgoing) })
        const body = await boundedBody(answer.body, outgoing.maxBytes ?? mebibyte)
        return { status: answer.statusCode, headers: answer.headers as Record<string, string>, body }
      } catch (cause) {
        if (timeout.aborted) throw gatewayError('runner_timeout', 'a helper service did not answer in time', { cause })
        throw runnerError(cause as Error)
      }
    },
    close: () => agent.destroy(),
  }
}

function sent({ method, headers, body }: HttpRequest): Pick<Dispatcher.RequestOptions, 'method' | 'headers' | 'body'> {
  return { method: method ?? 'GET', headers: { 'user-agent': 'foldgate', ...headers }, body: body ?? null }
}
