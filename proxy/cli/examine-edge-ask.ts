import { randomBytes } from 'node:crypto'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { performance } from 'node:perf_hooks'
import { gatewayError } from '../../plugins/errors.ts'
import type { HeaderNames } from '../../plugins/headers.ts'
import { wordsFromError } from './http-ask.ts'

/** One request that is made in the same way wherever it goes. */
export interface Trial {
  /** In words, such as `a streamed chat`. */
  readonly title: string
  readonly kind: 'models' | 'refusal' | 'chat' | 'stream'
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** Made with the digits of the one who asks. */
  readonly body?: (nonce: string) => unknown
}

/** How one went: what came back, and when. */
export interface TrialAnswer {
  readonly status: number
  /** Names in lower case; several values joined. */
  readonly headers: Readonly<Record<string, string>>
  readonly trailers: Readonly<Record<string, string>>
  readonly text: string
  /** What was sent as `x-request-id` and in other headers: 32 hex digits. */
  readonly nonce: string
  /** Milliseconds from the head of the request to the first and to the last byte of the body. */
  readonly firstMs: number
  readonly lastMs: number
  /** The longest time between two reads of the body, in milliseconds. */
  readonly silenceMs: number
}

/** Where trials go, and with what. */
export interface EdgeHop {
  /** Base URL without a slash at the end. */
  readonly url: string
  readonly apiKey: string | undefined
  /** Undefined while the prefix is not known. */
  readonly names: HeaderNames | undefined
}

/** For a whole exchange, in milliseconds: a model may have to be loaded first. */
const patienceMs = 60_000
const mostBytes = 4_194_304

/** Makes one trial, on a connection of its own. Throws `runner_unreachable` saying why. */
export function tryOnce({ url, apiKey, names }: EdgeHop, { method, path, body }: Trial): Promise<TrialAnswer> {
  const nonce = randomBytes(16).toString('hex')
  const text = body === undefined ? undefined : JSON.stringify(body(nonce))
  const headers = {
    ...nonceHeaders(nonce, names),
    ...(apiKey ? { authorization: `Bearer ${apiKey}` } : {}),
    ...(text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
    'user-agent': 'foldgate-doctor',
    // As most clients do: an edge that compresses streams shows it then.
    'accept-encoding': 'gzip',
  }
  const target = new URL(url + path)
  const open = target.protocol === 'https:' ? requestHttps : requestHttp
  const late = AbortSignal.timeout(patienceMs)
  return new Promise((resolve, reject) => {
    const start = performance.now()
    const fail = (reason: unknown): void => {
      const why = late.aborted ? `no whole answer within ${patienceMs} ms` : wordsFromError(reason)
      reject(gatewayError('runner_unreachable', why, { cause: reason }))
    }
    const sent = open(target, { method, headers, agent: false, signal: late }, (reply) => {
      const parts: Buffer[] = []
      let [firstMs, lastMs, silenceMs, size] = [0, 0, 0, 0]
      reply.on('data', (part: Buffer) => {
        const at = performance.now() - start
        if (parts.length === 0) firstMs = at
        else silenceMs = Math.max(silenceMs, at - lastMs)
        lastMs = at
        size += part.length
        if (size > mostBytes) reply.destroy(gatewayError('runner_protocol', 'the answer is too large'))
        else parts.push(part)
      })
      reply.once('error', fail)
      reply.once('close', () => fail(gatewayError('runner_protocol', 'the answer was cut off')))
      reply.once('end', () => {
        const status = reply.statusCode ?? 0
        const [own, ending] = [joined(reply.headersDistinct), joined(reply.trailersDistinct)]
        resolve({
          status,
          headers: own,
          trailers: ending,
          text: Buffer.concat(parts).toString('utf8'),
          nonce,
          firstMs,
          lastMs,
          silenceMs,
        })
      })
    })
    sent.once('error', fail)
    sent.end(text)
  })
}

/** Headers whose arrival the gateway tells: with the asker's digits where any value will do. */
function nonceHeaders(nonce: string, names: HeaderNames | undefined): Record<string, string> {
  const known = { 'x-request-id': nonce, traceparent: `00-${nonce}-${nonce.slice(0, 16)}-00`, te: 'trailers' }
  if (!names) return known
  return {
    ...known,
    connection: 'te, close',
    [names.check]: nonce,
    [names.conversationId]: nonce,
    [names.debug]: '1',
    [names.cacheHint]: 'bypass',
    [names.batchHint]: '1',
    [names.deadlineMs]: String(patienceMs),
  }
}

function joined(headers: Readonly<Record<string, readonly string[] | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, values = []]) => [name, values.join(', ')]))
}
