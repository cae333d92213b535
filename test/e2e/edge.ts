import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What an edge does to what passes it; without any of it, it passes everything on. */
export interface EdgeHabits {
  /** Headers that it takes out of requests, and out of answers. */
  readonly dropsIn?: readonly string[]
  readonly dropsOut?: readonly string[]
  /** Headers that it writes on requests, and on answers. */
  readonly writesIn?: Readonly<Record<string, string>>
  readonly writesOut?: Readonly<Record<string, string>>
  /** It holds whole answers back. */
  readonly buffers?: boolean
  /** It drops trailers. */
  readonly dropsTrailers?: boolean
  /** It puts a page of its own in place of the body of an error. */
  readonly ownErrors?: boolean
  /** It answers everything itself, with this status. */
  readonly forbids?: number
}

/** A small edge in front of something. */
export interface Edge extends AsyncDisposable {
  readonly url: string
}

/** Starts an edge on a free port. */
export async function startEdge(target: string, habits: EdgeHabits = {}): Promise<Edge> {
  const server = createServer((incoming, response) => {
    if (habits.forbids === undefined) pass(target, habits, { incoming, response })
    else response.writeHead(habits.forbids, { 'content-type': 'text/html' }).end('<h1>no</h1>')
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

interface Passing {
  readonly incoming: IncomingMessage
  readonly response: ServerResponse
}

function pass(target: string, habits: EdgeHabits, { incoming, response }: Passing): void {
  const url = new URL(incoming.url ?? '/', target)
  const headers = { ...without(incoming.headers, habits.dropsIn), ...habits.writesIn, host: url.host }
  const onward = request(url, { method: incoming.method ?? 'GET', headers, agent: false }, (answer) => {
    const own = habits.ownErrors === true && (answer.statusCode ?? 0) >= 400
    const kept = without(answer.headers, [...(habits.dropsOut ?? []), 'connection', ...(own ? ['content-length'] : [])])
    const trailing = habits.dropsTrailers ? without(kept, ['trailer']) : kept
    const page = own ? { 'content-type': 'text/html' } : {}
    response.writeHead(answer.statusCode ?? 502, { ...trailing, ...habits.writesOut, ...page })
    if (own) {
      answer.resume()
      response.end('<h1>an error</h1>')
    } else relay(answer, response, habits)
  })
  onward.on('error', () => response.destroy())
  incoming.pipe(onward)
}

function relay(answer: IncomingMessage, response: ServerResponse, { buffers, dropsTrailers }: EdgeHabits): void {
  const held: Buffer[] = []
  answer.on('data', (part: Buffer) => (buffers ? held.push(part) : response.write(part)))
  answer.on('end', () => {
    if (!dropsTrailers && Object.keys(answer.trailers).length > 0) response.addTrailers(answer.trailers as never)
    response.end(Buffer.concat(held))
  })
}

function without(headers: IncomingHttpHeaders, names: readonly string[] = []): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)))
}
