import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { type Call, createCall, type Facts } from '../plugins/call.ts'
import type { Route } from '../plugins/chat.ts'
import { plainAddress, type TrustedProxies } from './client-address.ts'

/** One HTTP request with its response, and the signal that says the caller has gone. */
export interface Caller {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** What is echoed as `x-request-id`: the caller's own when that is trusted and well formed, else the call's id. */
  readonly requestId: string
  /** 128 random bits in hex, this call's alone. */
  readonly id: string
  readonly signal: AbortSignal
  /** Ends the signal once the call is over, so that everything that hangs on it is given back. */
  over(): void
}

// One reason object for all: making a DOMException with its stack for each call would cost more than the call's bookkeeping.
const callerLeft = Object.assign(new Error('the caller went away'), { name: 'AbortError' })

/** Meets a caller. The signal aborts when the connection closes before the answer was sent whole. */
export function createCaller(request: IncomingMessage, response: ServerResponse, trustRequestId: boolean): Caller {
  const controller = new AbortController()
  const over = (): void => {
    if (!controller.signal.aborted) controller.abort(callerLeft)
  }
  response.on('close', () => {
    if (!response.writableFinished) over()
  })
  const id = randomId()
  const asked = trustRequestId ? request.headers['x-request-id'] : undefined
  const requestId = typeof asked === 'string' && /^[\w.:/-]{1,128}$/.test(asked) ? asked : id
  return { request, response, id, requestId, signal: controller.signal, over }
}

let pool = Buffer.alloc(0)
let taken = 0

/** 128 random bits as hex; drawn from the system in blocks, since a system call for each would show. */
function randomId(): string {
  if (taken + 16 > pool.length) {
    pool = randomBytes(4096)
    taken = 0
  }
  taken += 16
  return pool.toString('hex', taken - 16, taken)
}

/** What a call is made from beside its caller. */
export interface CallFrame {
  readonly route: Route
  readonly body: Buffer
  readonly now: number
  readonly proxies: TrustedProxies
}

/** The call that the outermost layer is asked about. */
export function callFromCaller(caller: Caller, { route, body, now, proxies }: CallFrame): Call {
  const { request, requestId, signal, id } = caller
  const { headers } = request as { headers: Record<string, string> }
  const peer = peerOf(request.socket)
  const facts = { ...peer, client_ip: proxies.clientOf(peer.peer, headers['x-forwarded-for']) }
  // The parsed headers are this call's alone: no copy is needed to put our id among them.
  headers['x-request-id'] = requestId
  return createCall({ id, route, now, body, headers, facts, signal })
}

type PeerFacts = Pick<Facts, 'peer'> & Partial<Pick<Facts, 'peerCertificate'>>

const peers = new WeakMap<Socket, PeerFacts>()

/** What is known of the direct peer: its address and, when it proved to hold one, its certificate. The same for all calls of a connection. */
function peerOf(socket: Socket): PeerFacts {
  let facts = peers.get(socket)
  if (!facts) {
    const certificate = socket instanceof TLSSocket && socket.authorized ? certificateOf(socket) : undefined
    facts = { peer: plainAddress(socket.remoteAddress ?? ''), ...(certificate ? { peerCertificate: certificate } : {}) }
    peers.set(socket, facts)
  }
  return facts
}

function certificateOf(socket: TLSSocket): Facts['peerCertificate'] | undefined {
  const { subject, subjectaltname = '' } = socket.getPeerCertificate()
  if (!subject) return undefined
  const name = subject.CN
  return {
    subject: Array.isArray(name) ? (name[0] ?? '') : (name ?? ''),
    san: subjectaltname.split(', ').filter(Boolean),
  }
}
