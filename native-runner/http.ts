import { Agent, request } from 'undici'
import { boundedBody } from '../plugins/bounded-body.ts'
import { GatewayError, gatewayError } from '../plugins/errors.ts'
import type { Http } from '../plugins/host.ts'
import type { Egress } from './egress.ts'

const mebibyte = 1024 * 1024

/**
 * HTTP to what a step names beside the engine: JWKS, profiles, scorers, webhooks. Only to hosts that the operator allows, and no redirect is
 * followed, so that an allowed host cannot send it elsewhere. A host that is not allowed is `runner_unreachable`.
 */
export function createEgressHttp(allows: Egress): Http & { close(): Promise<void> } {
  const agent = new Agent({ keepAliveTimeout: 4_000, connections: 64 })
  return {
    async send(url, { method = 'GET', headers, body = null, timeoutMs, maxBytes = mebibyte, signal }) {
      if (!allows(url)) throw gatewayError('runner_unreachable', 'the host is not one that this runner may reach')
      const timeout = AbortSignal.timeout(timeoutMs)
      const either = signal ? AbortSignal.any([signal, timeout]) : timeout
      const sent = { method, body, headers: { 'user-agent': 'foldgate', ...headers } }
      try {
        const answer = await request(url, { dispatcher: agent, signal: either, ...sent })
        const bytes = await boundedBody(answer.body, maxBytes)
        return { status: answer.statusCode, headers: answer.headers as Record<string, string>, body: bytes }
      } catch (cause) {
        if (timeout.aborted) throw gatewayError('runner_timeout', 'a helper service did not answer in time', { cause })
        if (cause instanceof GatewayError) throw cause
        throw gatewayError('runner_unreachable', 'a helper service cannot be reached or broke off', { cause })
      }
    },
    close: () => agent.destroy(),
  }
}
