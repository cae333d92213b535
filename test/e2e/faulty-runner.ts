import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What a fault may change of an answer before it goes on; the head as names and values. */
export interface PlantedAnswer {
  status: number
  headers: Record<string, string | string[]>
  trailers: Record<string, string>
  /** Changes a part of the body; undefined takes it out. */
  body?: (part: Buffer) => Buffer | undefined
}

/** A fault on the way to a runner. Undefined: nothing is wrong. */
export type Fault = (request: {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, unknown>>
}) => ((answer: PlantedAnswer) => void) | { readonly status: number; readonly body: string } | undefined

/** A runner with a fault that can be planted and taken away: what comes goes to a real one. */
export interface FaultyRunner extends AsyncDisposable {
  readonly url: string
  /** Requests for answers that have come by, with a context and without. */
  readonly seen: { withContext: number; plain: number }
  plant(fault: Fault | undefined): void
  /** Leads to another runner from now on. */
  lead(url: string): void
  /** The same, and gives back its own URL. */
  leading(url: string): string
}

/** Starts it in front of a runner. */
export async function startFaultyRunner(target: string): Promise<FaultyRunner> {
  let url = target
  let planted: Fault | undefined
  const seen = { withContext: 0, plain: 0 }
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    const { method = 'GET', url: path = '/', headers } = request
    if (path.startsWith('/v1/') && method === 'POST') seen[headers['x-execution-context'] ? 'withContext' : 'plain']++
    const fault = planted?.({ method, path, headers })
    if (fault && typeof fault !== 'function') {
      request.resume()
      response.writeHead(fault.status, { 'content-type': 'application/json' })
      response.end(fault.body)
      return
    }
    const onward = httpRequest(
      `${url}${path}`,
      { method, headers: { ...headers, host: new URL(url).host } },
      (came) => {
        const { connection: _c, 'keep-alive': _k, ...rest } = came.headers
        const answer: PlantedAnswer = {
          status: came.statusCode ?? 502,
          headers: rest as PlantedAnswer['headers'],
          trailers: {},
        }
        fault?.(answer)
        response.writeHead(answer.status, answer.headers)
        came.on('data', (part: Buffer) => {
          const sent = answer.body ? answer.body(part) : part
          if (sent) response.write(sent)
        })
        came.on('end', () => {
          const trailers = { ...(came.trailers as Record<string, string>) }
          const changed: PlantedAnswer = { ...answer, trailers }
          fault?.(changed)
          if (answer.headers['trailer'] !== undefined) response.addTrailers(changed.trailers)
          response.end()
        })
        came.on('error', () => response.destroy())
      },
    )
    onward.on('error', () => response.destroy())
    response.on('close', () => onward.destroy())
    request.pipe(onward)
  }
  const server = createServer(handle)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const own = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: own,
    leading(next) {
      url = next
      return own
    },
    seen,
    plant(fault) {
      planted = fault
    },
    lead(next) {
      url = next
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}
