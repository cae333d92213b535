import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { Pool } from 'undici'
import {
  type Answered,
  type ChainAnswer,
  type ChainRequest,
  errorAnswer,
  type Headers,
  type Heard,
  type Returned,
  type Service,
} from './exchange.ts'
import type { ChainPlaces } from './places.ts'

const mostBytes = 4 * 1024 * 1024
const keptOpenMs = 60_000

/**
 * What all services of the chain share, as a team would share it: node:http in front, connections kept open to the next one, each body
 * parsed at most once and serialised at most once each way. Prints `listening PORT` and ends by itself on SIGTERM.
 */
export function runService<Kept>(service: Service<Kept>, places: ChainPlaces): void {
  const pool = new Pool(places.next, { keepAliveTimeout: keptOpenMs, pipelining: 1 })
  const hop = { service, pool, each: places.bodies === 'each' }
  const server = createServer({ keepAliveTimeout: keptOpenMs }, (request, response) => {
    const done = request.url === '/healthz' ? health(service, response) : forward(hop, request, response)
    done.catch((fault: Error) => send(response, errorAnswer(500, fault.message)))
  })
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 }, () => {
    console.log(`listening ${(server.address() as AddressInfo).port}`)
  })
  process.once('SIGTERM', () => void close(server, pool, service))
}

interface Hop<Kept> {
  readonly service: Service<Kept>
  readonly pool: Pool
  readonly each: boolean
}

async function forward<Kept>(hop: Hop<Kept>, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const text = await bodyOf(request)
  if (text === undefined) return send(response, errorAnswer(413, 'the body is too large'))
  const heard = heardFrom(request, text)
  const decision = await hop.service.request(heard)
  if (decision.kind === 'answer') return send(response, decision)
  const body = decision.body ?? (hop.each ? heard.body : undefined)
  const headers = decision.headers ?? heard.headers
  const returned = await ask(hop.pool, { path: heard.path, headers, text: body ? JSON.stringify(body) : text })
  const change = hop.service.answer?.(returned, decision.kept)
  const changed = change?.body ?? (hop.each && returned.status === 200 ? returned.body : undefined)
  send(response, {
    status: returned.status,
    text: changed ? JSON.stringify(changed) : returned.text,
    headers: { ...returned.headers, ...change?.headers },
  })
}

interface Asked {
  readonly path: string
  readonly headers: Headers
  readonly text: string
}

async function ask(pool: Pool, { path, headers, text }: Asked): Promise<Returned> {
  try {
    const { statusCode, headers: came, body } = await pool.request({ method: 'POST', path, headers, body: text })
    return returnedFrom(statusCode, travelling(came), await body.text())
  } catch {
    return returnedFrom(502, {}, JSON.stringify({ error: { message: 'the next service did not answer', code: 502 } }))
  }
}

function returnedFrom(status: number, headers: Headers, text: string): Returned {
  let body: ChainAnswer | undefined
  return {
    status,
    headers,
    text,
    get body() {
      body ??= JSON.parse(text) as ChainAnswer
      return body
    },
  }
}

function heardFrom(request: IncomingMessage, text: string): Heard {
  let body: ChainRequest | undefined
  return {
    path: request.url ?? '/',
    headers: travelling(request.headers),
    bytes: Number(request.headers['content-length'] ?? Buffer.byteLength(text)),
    get body() {
      body ??= JSON.parse(text) as ChainRequest
      return body
    },
  }
}

// Those belong to one connection (RFC 9110 §7.6.1), or are made anew for each body.
const ofOneHop = new Set(['connection', 'keep-alive', 'host', 'content-length', 'transfer-encoding', 'date'])

function travelling(headers: IncomingHttpHeaders): Headers {
  const found: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined && !ofOneHop.has(name)) found[name] = String(value)
  }
  return found
}

/** Undefined for a body that is longer than may be. */
function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  return new Promise((done, fail) => {
    const parts: Buffer[] = []
    let bytes = 0
    request.on('data', (part: Buffer) => {
      bytes += part.length
      if (bytes <= mostBytes) parts.push(part)
      else done(undefined)
    })
    request.on('end', () => done((parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)).toString()))
    request.on('error', fail)
  })
}

function send(response: ServerResponse, answer: Answered): void {
  if (response.headersSent) return
  const { status, text, headers } = answer
  const length = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
  response.writeHead(status, { ...headers, ...length }).end(text)
}

type Upkeep = Pick<Service<unknown>, 'healthy' | 'close'>

async function health(service: Upkeep, response: ServerResponse): Promise<void> {
  const well = await (service.healthy?.() ?? Promise.resolve()).then(
    () => true,
    () => false,
  )
  send(response, { status: well ? 200 : 503, text: JSON.stringify({ healthy: well }) })
}

async function close(server: Server, pool: Pool, service: Upkeep): Promise<void> {
  server.close()
  server.closeAllConnections()
  await Promise.allSettled([pool.destroy(), service.close?.()])
  process.exit(0)
}
