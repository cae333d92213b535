import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { type Connection, serveConnection } from './connection.ts'
import type { Exchange } from './exchange.ts'
import { createGate, type Gate, until } from './gate.ts'
import { createGathering, type Gathering } from './gather.ts'
import { leakage } from './leakage.ts'
import { json, type Reply } from './reply.ts'
import type { Pacing } from './segments.ts'

/** What the upstream answers: one reply for ever, replies in order (then 500s), or a reply chosen per request. */
export type Script = Reply | readonly (Reply | Chooser)[] | Chooser
/** Chooses the reply to one whole request. */
export type Chooser = (request: Exchange) => Reply | Promise<Reply>

/** How the upstream treats its connections. */
export interface UpstreamOptions {
  /** Port to listen on; default 0, any free one. */
  readonly port?: number
  /** Milliseconds after which an idle connection is closed; default: never. */
  readonly keepAliveMs?: number
  /** Seconds told in `Keep-Alive: timeout=`; default: no such header. */
  readonly keepAliveHint?: number
  /** False: connections are accepted and never read. */
  readonly reading?: boolean
  /** True: the request's head is enough to start the answer; default false. */
  readonly eager?: boolean
  /** True: a client's FIN in the middle of an answer does not stop the answer; default false. */
  readonly halfOpen?: boolean
  /** How segments are kept apart for a client in another process; default `gap` (3 ms). */
  readonly pacing?: Pacing
}

/** The scripted upstream **U**: writes exact bytes in exact TCP segments and logs what it received. */
export interface Upstream extends AsyncDisposable {
  readonly port: number
  /** `http://127.0.0.1:<port>` */
  readonly url: string
  /** Requests in order of arrival, from the end of their heads on. */
  readonly requests: readonly Exchange[]
  /** Connections accepted so far. */
  readonly accepted: number
  /** Connections that are open now. */
  readonly openSockets: number
  /** Replaces the script from the next request on. */
  play(script: Script): void
  /** The whole request `index`, from 0; waits for it. */
  request(index: number): Promise<Exchange>
  /** As `request`, but its head is enough. */
  began(index: number): Promise<Exchange>
  /** How the connection of request `index` ended; waits for it. */
  closed(index: number, waitMs?: number): ReturnType<Exchange['closed']>
  /** Lets every answer that stalls without a gate of its own go on, now and from now on. */
  release(): void
  /** Closes the connections that no request is on; says how many. */
  closeIdle(how?: 'fin' | 'reset'): number
  /** Resolves when no connection is open. */
  deserted(waitMs?: number): Promise<void>
  /** Stops listening and resets every connection. */
  close(): Promise<void>
}

interface State {
  readonly server: Server
  readonly live: Set<Connection>
  readonly log: Gathering<Exchange>
  readonly whole: Gathering<Exchange>
  script: Script
  released: Gate
  accepted: number
}

/** Starts an upstream on 127.0.0.1; disposing it resets what is open, and an answer still under way then is a leak. */
export async function startUpstream(script: Script, options: UpstreamOptions = {}): Promise<Upstream> {
  const state: State = {
    server: createServer({ allowHalfOpen: true, noDelay: true }),
    live: new Set(),
    log: createGathering('request'),
    whole: createGathering('whole request'),
    script,
    released: createGate(),
    accepted: 0,
  }
  state.server.on('connection', (socket) => accept(state, socket, options))
  await new Promise<void>((done, fail) => {
    state.server.once('error', fail).listen(options.port ?? 0, '127.0.0.1', done)
  })
  return upstreamFromState(state)
}

function accept(state: State, socket: Socket, options: UpstreamOptions): void {
  const connection = serveConnection(socket, {
    ...options,
    number: state.accepted++,
    log: state.log,
    whole: state.whole,
    released: () => state.released.opened,
    choose: (request) => choose(state.script, request),
  })
  state.live.add(connection)
  socket.once('close', () => state.live.delete(connection))
}

async function choose(script: Script, request: Exchange): Promise<Reply> {
  if (typeof script === 'function') return script(request)
  if (!Array.isArray(script)) return script as Reply
  const entry: Reply | Chooser | undefined = script[request.index]
  if (entry === undefined) return json({ error: { message: `the script has no reply ${request.index}` } }, 500)
  return typeof entry === 'function' ? entry(request) : entry
}

function upstreamFromState(state: State): Upstream {
  const { port } = state.server.address() as AddressInfo
  const deserted = (waitMs?: number) =>
    until(
      () => state.live.size === 0,
      () => `${state.live.size} connections to the upstream close`,
      waitMs,
    )
  const close = async () => {
    for (const connection of state.live) connection.reset()
    if (state.server.listening) await new Promise((done) => state.server.close(done))
  }
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    requests: state.log.items,
    get accepted() {
      return state.accepted
    },
    get openSockets() {
      return state.live.size
    },
    play(script) {
      state.script = script
    },
    request: async (index) => {
      await state.whole.when(
        () => state.log.items[index]?.complete === true,
        () => missing(state, index),
      )
      return state.log.items[index]!
    },
    began: (index) => state.log.at(index),
    closed: async (index, waitMs) => (await state.log.at(index)).closed(waitMs),
    release: () => state.released.open(),
    closeIdle: (how = 'fin') => [...state.live].filter((connection) => connection.closeIfIdle(how)).length,
    deserted,
    close,
    [Symbol.asyncDispose]: async () => {
      await noteLeaks(state)
      await close()
    },
  }
}

const missing = (state: State, index: number) =>
  `whole request ${index} (${state.log.items.length} began, ${state.whole.items.length} are whole)`

/** An answer that is still under way when its upstream goes was abandoned by the gateway: nobody reads it. */
async function noteLeaks(state: State): Promise<void> {
  const busy = () => [...state.live].filter((connection) => connection.busy)
  await until(() => busy().length === 0, 'quiet', 1_000).catch(() => {
    leakage.add(`${busy().length} answers of an upstream were still under way when it closed`)
  })
}
