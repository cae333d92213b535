import { createHmac } from 'node:crypto'
import type { Host } from '../plugins/host.ts'
import { createMemory } from './admin/stories.ts'
import type { Drawn } from './folding/collect/drawn.ts'

/** A call of a rollout that its caller may rate. */
export interface RatableCall {
  readonly id: string
  readonly requestId: string
  /** Who made it; undefined where nobody tells callers apart. */
  readonly who: string | undefined
  readonly drawn: Drawn
}

/** Calls that may be rated, here and, where replicas share a store, at any of them. */
export interface RatableCalls {
  keep(call: RatableCall): void
  /** The arm that the call of this id, made by this caller, was drawn into; undefined where there is none. Only the first time is `fresh`. */
  rated(id: string, who: string | undefined): Promise<{ readonly drawn: Drawn; readonly fresh: boolean } | undefined>
}

/** People take minutes to say what they think: calls of a rollout are remembered longer than others. */
const mostHere = 20_000
const sharedForMs = 3_600_000

/** The store that is shared, and a secret that replicas have in common. */
export type RatableHost = Pick<Host, 'store' | 'secret'>

/**
 * Makes {@link RatableCalls}. A shared store gets callers and ids as macs under a secret of the signing key, and nothing that was said: so only
 * replicas that sign with the same key find each other's calls.
 */
export function createRatableCalls(host: () => RatableHost): RatableCalls {
  const here = createMemory<RatableCall>(mostHere)
  const ratedHere = createMemory<{ readonly id: string; readonly requestId: string }>(mostHere)
  const store = () => host().store
  const isShared = (): boolean => store().kind === 'redis'
  const named = (text = ''): string => createHmac('sha256', secretOf(host())).update(text).digest('base64url')
  // Ids may be a caller's own words.
  const callKey = (id: string): string => `rate:c:${named(id)}`
  const keptFrom = ({ id, who, drawn }: RatableCall): Kept => ({ id, who: named(who), drawn })
  const find = async (id: string): Promise<Kept | undefined> => {
    const near = here.find(id)
    if (near || !isShared()) return near && keptFrom(near)
    const bytes = await store().get(callKey(id))
    return bytes && (JSON.parse(bytes.toString('utf8')) as Kept)
  }
  const first = async (id: string): Promise<boolean> => {
    if (ratedHere.find(id)) return false
    ratedHere.remember({ id, requestId: id })
    return !isShared() || store().add(`rate:d:${named(id)}`, said, sharedForMs)
  }
  return {
    keep(call) {
      here.remember(call)
      if (!isShared()) return
      const bytes = Buffer.from(JSON.stringify(keptFrom(call)))
      for (const id of new Set([call.id, call.requestId])) store().set(callKey(id), bytes, sharedForMs).catch(ignored)
    },
    async rated(id, who) {
      const call = await find(id)
      if (!call || call.who !== named(who)) return undefined
      return { drawn: call.drawn, fresh: await first(call.id) }
    },
  }
}

/** A call as other replicas may read it. */
interface Kept {
  readonly id: string
  readonly who: string
  readonly drawn: Drawn
}

const said = Buffer.from('1')
const secrets = new WeakMap<RatableHost, Buffer>()

function secretOf(host: RatableHost): Buffer {
  const known = secrets.get(host) ?? host.secret('feedback')
  secrets.set(host, known)
  return known
}

function ignored(): void {}
