import { type RequestOptions, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { gatewayError } from '../../plugins/errors.ts'

/** What is asked over HTTP. */
export interface HttpQuestion {
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** For the whole exchange, in milliseconds; default 10000. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
  /** PEM of the authorities that a certificate is checked against; default: the system's. */
  readonly ca?: Buffer
}

/** What came back. */
export interface HttpReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

const maxReplyBytes = 16_777_216

/** Asks once, on a connection of its own, without following redirects. Throws `runner_unreachable` saying why. */
export async function askHttp(url: string, question: HttpQuestion = {}): Promise<HttpReply> {
  const { timeoutMs = 10_000, signal } = question
  const late = AbortSignal.timeout(timeoutMs)
  try {
    return await exchange(new URL(url), question, signal ? AbortSignal.any([signal, late]) : late)
  } catch (reason) {
    if (signal?.aborted) throw gatewayError('client_closed', 'stopped', { cause: reason })
    const why = late.aborted ? `no answer within ${timeoutMs} ms` : wordsFromError(reason)
    throw gatewayError('runner_unreachable', `${shownUrl(url)}: ${why}`, { cause: reason })
  }
}

function exchange(
  url: URL,
  { method = 'GET', headers, body, ca }: HttpQuestion,
  signal: AbortSignal,
): Promise<HttpReply> {
  const options: RequestOptions & { ca?: Buffer } = {
    method,
    headers: { ...headers },
    signal,
    agent: false,
    ...(ca ? { ca } : {}),
  }
  const open = url.protocol === 'https:' ? requestHttps : requestHttp
  return new Promise((resolve, reject) => {
    const sent = open(url, options, (reply) => {
      const parts: Buffer[] = []
      let size = 0
      reply.on('data', (part: Buffer) => {
        size += part.length
        if (size > maxReplyBytes) reply.destroy(gatewayError('runner_protocol', 'the answer is too large'))
        else parts.push(part)
      })
      reply.once('error', reject)
      reply.once('close', () => reject(gatewayError('runner_protocol', 'the answer was cut off')))
      reply.once('end', () =>
        resolve({ status: reply.statusCode ?? 0, headers: reply.headers, text: Buffer.concat(parts).toString('utf8') }),
      )
    })
    sent.once('error', reject)
    sent.end(body)
  })
}

/** Why a connection failed, in words. */
export function wordsFromError(reason: unknown): string {
  const { code, message } = reason as NodeJS.ErrnoException
  return (code && words[code]) || (message ? message.charAt(0).toLowerCase() + message.slice(1) : 'failed')
}

const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'the host name is not known',
  EAI_AGAIN: 'the host name cannot be looked up now',
  ECONNRESET: 'the connection was cut off',
  EHOSTUNREACH: 'there is no way to that host',
  ETIMEDOUT: 'no connection came about',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed; name its authority in tls.caFile',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is from an authority that is not known; name it in tls.caFile',
  CERT_HAS_EXPIRED: 'its certificate has expired',
}

/** A URL without what may be secret in it. */
function shownUrl(url: string): string {
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname}`
}
