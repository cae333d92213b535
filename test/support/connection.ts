import type { Socket } from 'node:net'
import { createByteReader, type Ending } from './byte-reader.ts'
import { type Exchange, type OpenExchange, openExchange } from './exchange.ts'
import type { Gathering } from './gather.ts'
import { framingFromHeaders, readBody, readHead } from './http-wire.ts'
import { type Played, play } from './play.ts'
import type { Reply } from './reply.ts'
import type { Pacing } from './segments.ts'

/** What one connection of the upstream is served with. */
export interface Serving {
  readonly number: number
  readonly log: Gathering<Exchange>
  readonly whole: Gathering<Exchange>
  readonly keepAliveMs?: number
  readonly keepAliveHint?: number
  readonly reading?: boolean
  readonly eager?: boolean
  readonly halfOpen?: boolean
  readonly pacing?: Pacing
  choose(request: Exchange): Promise<Reply>
  released(): Promise<void>
}

/** One connection that a client opened to the upstream. */
export interface Connection {
  /** A request is being read or answered on it. */
  readonly busy: boolean
  reset(): void
  /** Closes it when no request is on it; says whether it did. */
  closeIfIdle(how: 'fin' | 'reset'): boolean
}

type Closed = Promise<{ how: Ending; at: number }>

/** Serves a connection until it ends. */
export function serveConnection(socket: Socket, serving: Serving): Connection {
  const state = { busy: false }
  const connection: Connection = {
    get busy() {
      return state.busy && !socket.destroyed
    },
    reset: () => void socket.resetAndDestroy(),
    closeIfIdle: (how) => {
      if (state.busy || socket.destroyed) return false
      if (how === 'fin') socket.end()
      else socket.resetAndDestroy()
      return true
    },
  }
  if (serving.reading === false) {
    socket.pause().on('error', () => {})
    return connection
  }
  void serve(socket, serving, state)
  return connection
}

async function serve(socket: Socket, serving: Serving, state: { busy: boolean }): Promise<void> {
  const reader = createByteReader(socket)
  const closed: Closed = reader.ending.then((how) => ({ how, at: performance.now() }))
  void closed.then(({ how }) => {
    if (how === 'fin' && !(serving.halfOpen && state.busy)) socket.destroy()
  })
  for (;;) {
    const idle = idleTimer(socket, serving.keepAliveMs)
    const head = await readHead(reader)
    clearTimeout(idle)
    if (!head) return void socket.end()
    state.busy = true
    const place = { index: serving.log.items.length, connection: serving.number, closed }
    const exchange = openExchange(head, place)
    serving.log.add(exchange.view)
    const body = readBody(reader, framingFromHeaders(head, 0), (part) => exchange.take(part.bytes)).then((end) => {
      if (end.how === 'complete') {
        exchange.finish(end.trailers)
        serving.whole.add(exchange.view)
      }
      return end.how === 'complete'
    })
    if (!serving.eager && !(await body)) return giveUp(socket, state)
    const goesOn = await answer(socket, exchange, { serving, closed })
    if (!goesOn || !(await body)) return giveUp(socket, state)
    state.busy = false
  }
}

function giveUp(socket: Socket, state: { busy: boolean }): void {
  state.busy = false
  if (!socket.destroyed) socket.end()
}

function idleTimer(socket: Socket, keepAliveMs: number | undefined): NodeJS.Timeout | undefined {
  if (keepAliveMs === undefined) return undefined
  return setTimeout(() => socket.end(), keepAliveMs)
}

/** Plays the answer; true when the connection may carry another request. */
async function answer(
  socket: Socket,
  exchange: OpenExchange,
  { serving, closed }: { serving: Serving; closed: Closed },
): Promise<boolean> {
  const { view } = exchange
  const reply = await serving.choose(view)
  const named = reply.head?.headers.find(([name]) => name.toLowerCase() === 'connection')?.[1]
  const closing = reply.framing === 'close' || /\bclose\b/i.test(named ?? view.headers['connection'] ?? '')
  const hint = serving.keepAliveHint === undefined ? [] : [`Keep-Alive: timeout=${serving.keepAliveHint}`]
  const played: Played = await play(reply, {
    socket,
    pacing: serving.pacing,
    connectionLines: closing ? ['Connection: close'] : hint,
    headOnly: view.method === 'HEAD',
    sent: exchange.sent,
    stall: async (step) => {
      exchange.stall()
      const gone = serving.halfOpen ? new Promise<void>((done) => socket.once('close', done)) : closed
      await Promise.race([step.gate?.opened ?? serving.released(), gone])
      return !socket.destroyed
    },
  })
  exchange.play(played)
  return played === 'whole' && (!closing || !reply.head)
}
