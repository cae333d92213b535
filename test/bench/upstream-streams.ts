import type { Socket } from 'node:net'
import { endEvent, eventOf, frameOf, roleEvent, stampedFrame, usageEvent } from './bodies.ts'
import type { UpstreamRequest } from './upstream-requests.ts'

/** How streams are played. */
export interface StreamPlan {
  /** Content events in each stream. */
  readonly events: number
  /** Time from one event of a stream to the next, in milliseconds. */
  readonly paceMs: number
  /** Events bear the instant at which they were written. */
  readonly stamped: boolean
}

/** Events in one stream of the flood, the ones around its content included. */
export const floodEvents = 400

interface Playing {
  readonly socket: Socket
  readonly request: UpstreamRequest
  /** Content events that went out. */
  sent: number
}

const head = Buffer.from(
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n',
)
const role = frameOf(roleEvent)
const finish = frameOf(eventOf('', 'stop'))
const usage = frameOf(usageEvent)
const end = Buffer.concat([frameOf(endEvent), Buffer.from('0\r\n\r\n')])
const said = ['the ', 'river ', 'carries ', 'small ', 'boats ', 'past ', 'quiet ', 'gardens. '].map((word) =>
  frameOf(eventOf(word)),
)

/**
 * Plays streams: the first content at once, then one event a stream and pace, each written by itself as a model server does that makes one
 * token for every sequence in a step. A stream whose reader is behind is written on nevertheless, up to what the sockets hold.
 */
export function createStreams(plan: StreamPlan): (socket: Socket, request: UpstreamRequest) => void {
  const playing = new Set<Playing>()
  let timer: NodeJS.Timeout | undefined
  const step = (stream: Playing): void => {
    const { socket } = stream
    if (socket.destroyed) playing.delete(stream)
    if (socket.destroyed || socket.writableNeedDrain) return
    if (stream.sent < plan.events) {
      socket.write(plan.stamped ? stampedFrame() : (said[stream.sent % said.length] as Buffer))
      stream.sent++
      return
    }
    playing.delete(stream)
    finishStream(stream)
  }
  const tick = (): void => {
    for (const stream of playing) step(stream)
    if (playing.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
  return (socket, request) => {
    const stream = { socket, request, sent: 0 }
    socket.write(head)
    socket.write(role)
    step(stream)
    playing.add(stream)
    timer ??= setInterval(tick, plan.paceMs)
  }
}

function finishStream({ socket, request }: Playing): void {
  socket.cork()
  socket.write(finish)
  if (request.usage) socket.write(usage)
  socket.write(end)
  socket.uncork()
  if (request.closes) socket.end()
}
