import { createRedisLine } from '../../../config/store/redis-line.ts'
import type { StoreConfig } from '../../../config/store.ts'
import type { Log } from '../../../plugins/host.ts'
import { createEmbeddedState } from './embedded.ts'
import type { PeerStateParts } from './peer-room.ts'
import { createPeerState, type PeerState } from './peers.ts'
import { createRedisState } from './redis.ts'
import type { Replica } from './replica.ts'
import type { RolloutState } from './state.ts'

/** From what the kind of the state follows. */
export interface StateParts {
  readonly store: StoreConfig
  readonly replica: Replica
  readonly log: Log
  /** The file that a state without Redis outlives its process in. */
  readonly path?: string
  /** How to reach the other replicas where there is no Redis, if there are others. */
  readonly peers?: Pick<PeerStateParts, 'peers' | 'port' | 'keys' | 'send' | 'resolve'>
}

/**
 * Opens the state of rollouts: over Redis where that is the store, else among the replicas where there are any, else in this process.
 * Behind sentinels a change has to be on a replica of Redis, since they fail over to it. Only a {@link PeerState} can `receive`.
 */
export async function openRolloutState(parts: StateParts): Promise<RolloutState & Partial<Pick<PeerState, 'receive'>>> {
  const { store, replica, log, path, peers } = parts
  if (store.kind === 'redis') {
    const line = await createRedisLine(store, log)
    return createRedisState({ line, replica, log, replicas: store.sentinel ? 1 : 0 })
  }
  const alone = { replica, log, ...(path === undefined ? {} : { path }) }
  return peers && peers.peers.length > 0 ? createPeerState({ ...alone, ...peers }) : createEmbeddedState(alone)
}
