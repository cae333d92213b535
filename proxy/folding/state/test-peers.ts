import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createKeyRing, createSigningKey } from '../../../plugins/jws-key.ts'
import type { PeerStateParts } from './peer-room.ts'
import { createPeerState, type PeerState } from './peers.ts'
import { createReplica } from './replica.ts'
import { silent } from './test-documents.ts'

export const peerKey = createSigningKey({ kid: 'k1', alg: 'HS256', secret: Buffer.alloc(32, 7) })

/** One replica, its endpoint, and what is between it and the others. */
export interface TestPeer extends PeerState {
  readonly address: string
  readonly id: string
}

/** Replicas in one process that talk over real sockets, any of which can be cut off from others. */
export function createPeers() {
  const servers: Server[] = []
  const states: PeerState[] = []
  const cut = new Set<string>()
  const sent: { readonly to: string; readonly body: string }[] = []
  const idAt = new Map<string, string>()

  const listen = async (receive: () => PeerState | undefined): Promise<string> => {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', async () => {
        const answer = await receive()?.receive(Buffer.concat(chunks).toString())
        response.writeHead(answer?.status ?? 503).end(answer?.body)
      })
    })
    servers.push(server)
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    return `127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  const sender = (from: string) => async (to: string, body: string) => {
    if (cut.has(`${from} ${idAt.get(to)}`)) throw new TypeError('no route')
    sent.push({ to, body })
    const response = await fetch(`http://${to}/-/peers`, { method: 'POST', body, signal: AbortSignal.timeout(1_000) })
    return { status: response.status, body: await response.text() }
  }
  return {
    sent,
    /** Opens a replica for each name; each is told the addresses of all, its own too. */
    async open(ids: readonly string[], more: Partial<PeerStateParts> = {}): Promise<TestPeer[]> {
      const slots = ids.map((): { state?: PeerState } => ({}))
      const addresses = await Promise.all(slots.map((slot) => listen(() => slot.state)))
      for (const [index, id] of ids.entries()) idAt.set(addresses[index] as string, id)
      return Promise.all(
        ids.map((id, index) =>
          this.start(id, addresses, { slot: slots[index] as { state?: PeerState }, more, at: index }),
        ),
      )
    },
    async start(
      id: string,
      addresses: readonly string[],
      { slot, more, at }: { slot: { state?: PeerState }; more: Partial<PeerStateParts>; at: number },
    ): Promise<TestPeer> {
      const state = await createPeerState({
        replica: createReplica(id, Date.now()),
        peers: addresses,
        port: 1,
        keys: { key: peerKey, ring: createKeyRing([peerKey]) },
        send: sender(id),
        log: silent,
        pollMs: 40,
        ...more,
      })
      slot.state = state
      states.push(state)
      return Object.assign(Object.create(state) as PeerState, { id, address: addresses[at] as string })
    },
    /** Cuts the ways between two sides, both directions. */
    split(some: readonly string[], others: readonly string[]) {
      for (const a of some) for (const b of others) cut.add(`${a} ${b}`).add(`${b} ${a}`)
    },
    /** Cuts the way from some to others; the other direction stays. */
    mute(some: readonly string[], others: readonly string[]) {
      for (const a of some) for (const b of others) cut.add(`${a} ${b}`)
    },
    heal: () => cut.clear(),
    async [Symbol.asyncDispose]() {
      for (const state of states) await state.close()
      for (const server of servers) {
        server.closeAllConnections()
        await new Promise((done) => server.close(done))
      }
    },
  }
}
