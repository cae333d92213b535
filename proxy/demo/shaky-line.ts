import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A way to a runner that can be made to break: a share of the calls with a signed context is answered with 500. */
export interface ShakyLine {
  readonly url: string
  /** The share that breaks from now on, 0 to 1. */
  shake(share: number): void
  close(): Promise<void>
}

/** Opens a {@link ShakyLine} to a runner, on a free port of the loopback interface. What breaks is chosen at random. */
export async function openShakyLine(target: string): Promise<ShakyLine> {
  let share = 0
  const server = createServer((request, response) => {
    const breaks = request.headers['x-execution-context'] !== undefined && Math.random() < share
    if (breaks && request.url?.startsWith('/v1/')) {
      request.resume()
      response.writeHead(500, { 'content-type': 'application/json' })
      response.end('{"error":{"message":"broken on purpose"}}')
    } else passOn(target, request, response)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    shake(next) {
      share = next
    },
    close() {
      server.closeAllConnections()
      return new Promise((done) => server.close(() => done()))
    },
  }
}

function passOn(target: string, request: IncomingMessage, response: ServerResponse): void {
  const { method, url = '/', headers } = request
  const onward = httpRequest(`${target}${url}`, { method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(response, { end: false })
    answer.on('end', () => {
      if (answer.headers.trailer !== undefined) response.addTrailers(answer.trailers as Record<string, string>)
      response.end()
    })
    answer.on('error', () => response.destroy())
  })
  onward.on('error', () => response.destroy())
  response.on('close', () => onward.destroy())
  request.pipe(onward)
}
