import { storeLost } from '../../../config/store/link.ts'
import { GatewayError } from '../../../plugins/errors.ts'
import { confirmTrip } from './confirm.ts'
import { collectScript, countedFromReply } from './counting.ts'
import { aliveMs } from './glance.ts'
import { historyScript, recordsFromReply } from './log.ts'
import { createRedisRoom, flush, listen, look, type RedisRoom, type RedisStateParts, round } from './redis-look.ts'
import { note, transition, trip } from './redis-write.ts'
import { stateKeys } from './scripts.ts'
import type { Counted, RolloutState, SeenReplica, StageChangeRecord } from './state.ts'
import { type Repeating, repeat } from './timers.ts'

/** Makes the state over Redis; waits for the first look, whether it succeeds or not. */
export async function createRedisState(parts: RedisStateParts): Promise<RolloutState> {
  const room = createRedisRoom(parts)
  const { line, timers, knowledge, contact, lease, own, pollMs, leaseMs, replica } = room
  await look(room)
  await lease.renew()
  const looking: Repeating = repeat(timers, pollMs, () => round(room, () => looking))
  const leading = repeat(timers, leaseMs * 0.3, () => lease.renew())
  void listen(room, () => looking)
  return {
    get known() {
      return knowledge.known
    },
    onChange: knowledge.onChange,
    transition: (change) => transition(room, change),
    note: (change) => note(room, change),
    async trip(request) {
      await trip(room, request)
      const watching = { timers, self: replica, pollMs, look: () => looking.now(), sighted: () => room.sighted }
      return confirmTrip(watching, request.rolloutId)
    },
    publish: own.set,
    collect: (rolloutId, stage) => collect(room, stateKeys.counters(rolloutId, stage)),
    lead() {
      const held = lease.held()
      return held?.fence === room.settled ? held : undefined
    },
    get condition() {
      return contact.condition
    },
    replicas: () => replicasOf(room),
    history: (limit) => history(room, limit),
    async close() {
      await Promise.all([looking.stop(), leading.stop()])
      await flush(room)
      await lease.leave()
      line.close()
    },
  }
}

async function collect(room: RedisRoom, key: string): Promise<Counted[]> {
  await flush(room)
  try {
    return countedFromReply(await room.line.run(collectScript, [key], []))
  } catch (reason) {
    throw reason instanceof GatewayError ? reason : storeLost('the store refused to tell the counters')
  }
}

/** Who was seen lately; of several runs of one replica the last. */
function replicasOf({ replica, sighted, pollMs, knowledge: { known } }: RedisRoom): SeenReplica[] {
  const seen = sighted.filter((each) => each.replica.id !== replica.id && each.agoMs <= aliveMs(pollMs))
  const latest = new Map(seen.toSorted((a, b) => b.agoMs - a.agoMs).map((each) => [each.replica.id, each]))
  const others = [...latest].map(([name, { rev }]) => ({ name, agrees: rev === known.rev }))
  return [{ name: replica.id, agrees: true }, ...others]
}

async function history({ line }: RedisRoom, limit: number): Promise<readonly StageChangeRecord[]> {
  try {
    return recordsFromReply(await line.run(historyScript, [stateKeys.log], [limit]))
  } catch {
    return []
  }
}
