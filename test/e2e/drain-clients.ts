import { connect, type RawClient } from '../support/client.ts'

/** A chat request by the model that says what the runner does; see `byModel`. */
export const chatBody = (model: string, more: object = {}): object => ({
  model,
  messages: [{ role: 'user', content: 'hi' }],
  ...more,
})

/** What came of one call of a load. */
export interface Served {
  /** When it was sent and when its answer ended, `performance.now()`. */
  readonly sentAt: number
  readonly endedAt: number
  readonly status: number
  /** The connection was new for it. */
  readonly fresh: boolean
  /** The `connection` header of the answer. */
  readonly connection: string | undefined
  readonly whole: boolean
}

/** Clients that call as long as they may, each on one connection that it keeps for as long as answers allow. */
export interface Load {
  /** What came of the calls so far. */
  readonly served: readonly Served[]
  /** No new connections from now on: the endpoint is gone from the balancer. Calls go on where a connection is kept. */
  leave(): void
  /** What came of every call, once no client has a connection left. Throws what no client may see: a refusal, or a call that broke. */
  ended(): Promise<readonly Served[]>
}

/** Starts clients that call one after the other, each pausing a little in between as real ones do. */
export function startLoad(url: string, clients: number): Load {
  const served: Served[] = []
  const state = { left: false }
  const running = Promise.all(Array.from({ length: clients }, (_, number) => callOn(url, number, { served, state })))
  running.catch(() => undefined)
  return {
    served,
    leave() {
      state.left = true
    },
    async ended() {
      await running
      return served
    },
  }
}

interface Going {
  readonly served: Served[]
  readonly state: { left: boolean }
}

async function callOn(url: string, number: number, { served, state }: Going): Promise<void> {
  while (!state.left) {
    await using client = await connect(url)
    for (let fresh = true; ; fresh = false) {
      const call = await callOnce(client, number, fresh)
      served.push(call)
      if (call.connection === 'close') break
      await new Promise((done) => setTimeout(done, 5 + number))
      // An idle connection is closed once nobody may be sent here any more.
      if (state.left) return
    }
  }
}

async function callOnce(client: RawClient, number: number, fresh: boolean): Promise<Served> {
  const sentAt = performance.now()
  await client.request({ body: chatBody('quick', { user: `${number} ${sentAt}` }) })
  const response = await client.response()
  const { how } = await response.done()
  const { status, headers } = response
  return {
    sentAt,
    endedAt: performance.now(),
    status,
    fresh,
    connection: headers['connection'],
    whole: how === 'complete',
  }
}
