import { type AddressInfo, createServer, type Socket } from 'node:net'
import { answerBody } from './bodies.ts'
import { readRequests, type UpstreamRequest } from './upstream-requests.ts'
import { createStreams, floodEvents } from './upstream-streams.ts'

/** The ports of the upstream, one for each way of answering. */
export interface UpstreamPorts {
  /** 5 KB of JSON, at once. */
  readonly json: number
  /** The same, held back until 500 calls wait or a second has passed. */
  readonly held: number
  /** Streams of 400 events, one a millisecond. */
  readonly flood: number
  /** Streams of 100 stamped events, one every 50 ms. */
  readonly paced: number
  /** Streams of 20 stamped events, one every 10 ms. */
  readonly brisk: number
}

const body = answerBody(5 * 1024)
const answer = (connection: string): Buffer =>
  Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: ${connection}\r\n\r\n${body}`,
  )
const kept = answer('keep-alive')
const closing = answer('close')

function answerAtOnce(socket: Socket, { closes }: UpstreamRequest): void {
  if (closes) socket.end(closing)
  else socket.write(kept)
}

function createHolding(): (socket: Socket, request: UpstreamRequest) => void {
  let waiting: (() => void)[] = []
  const release = (): void => {
    for (const each of waiting) each()
    waiting = []
  }
  return (socket, request) => {
    if (waiting.length === 0) setTimeout(release, 1000)
    waiting.push(() => answerAtOnce(socket, request))
    if (waiting.length === 500) release()
  }
}

async function listen(heard: (socket: Socket, request: UpstreamRequest) => void): Promise<number> {
  const server = createServer({ noDelay: true }, (socket) => readRequests(socket, (request) => heard(socket, request)))
  await new Promise<void>((done) => server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, done))
  return (server.address() as AddressInfo).port
}

const ports: UpstreamPorts = {
  json: await listen(answerAtOnce),
  held: await listen(createHolding()),
  flood: await listen(createStreams({ events: floodEvents - 4, paceMs: 1, stamped: false })),
  paced: await listen(createStreams({ events: 100, paceMs: 50, stamped: true })),
  brisk: await listen(createStreams({ events: 20, paceMs: 10, stamped: true })),
}
console.log(`ports ${JSON.stringify(ports)}`)
