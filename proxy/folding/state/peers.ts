import { historyScript, recordsFromReply } from './log.ts'
import type { PeerReply } from './peer-courier.ts'
import { claim, claimed, isNext, leads, noted, proposed, transition } from './peer-lead.ts'
import type { PeerAnswer, PeerMessage } from './peer-messages.ts'
import { count, createPeerRoom, goneMs, hearsMost, learn, type PeerRoom, type PeerStateParts } from './peer-room.ts'
import { answerOf, spread, tellAll, told } from './peer-tell.ts'
import type { Replica } from './replica.ts'
import { recordOfTrip, tripsFromRequest } from './requests.ts'
import { stateKeys } from './scripts.ts'
import type { RolloutState, SeenReplica } from './state.ts'
import { repeat } from './timers.ts'

/** The state of replicas among themselves. */
export interface PeerState extends RolloutState {
  /** Takes in the body of a `POST /-/peers`, whoever sent it; the answer. Never throws. */
  receive(body: string): Promise<PeerReply>
}

/**
 * Makes the state that replicas keep among themselves, where there is no Redis. A change needs most of them; a trip needs nobody. Waits
 * for the first round, whether anybody answers or not.
 */
export async function createPeerState(parts: PeerStateParts): Promise<PeerState> {
  const room = createPeerRoom(parts)
  const { knowledge, own, kept, timers, replica } = room
  await turn(room)
  const turning = repeat(timers, room.pollMs, () => turn(room))
  return {
    get known() {
      return knowledge.known
    },
    onChange: knowledge.onChange,
    transition: (change) => transition(room, change),
    note: (change) => noted(room, change),
    async trip(request) {
      const trips = tripsFromRequest(request, replica.id, timers.now())
      learn(room, { trips, said: recordOfTrip(request, replica.id) })
      return spread(room, request.rolloutId)
    },
    publish(rolloutId, stage, counters) {
      count(room, replica, own.set(rolloutId, stage, counters))
    },
    async collect(rolloutId, stage) {
      const counted = room.counted.get(`${rolloutId}\n${stage}`)?.values() ?? []
      return [...counted].map(({ seq, ...each }) => each)
    },
    lead: () => leads(room),
    get condition() {
      return room.contact.condition
    },
    replicas: () => replicasOf(room),
    async history(limit) {
      return recordsFromReply(historyScript.local(kept.memory, [stateKeys.log], [String(limit)]))
    },
    receive: async (body) => room.courier.receive(body, (from, message) => respond(room, from, message)),
    async close() {
      await turning.stop()
      await room.busy
    },
  }
}

/** Who is at the addresses of the others, and whether they were heard lately and have said that they know as much. */
function replicasOf(room: PeerRoom): SeenReplica[] {
  const { replica, roster, told, knowledge } = room
  const { known } = knowledge
  const alive = new Set(roster.alive(goneMs(room)))
  const others = roster.addresses().map((address) => {
    const [name, so] = [roster.at(address)?.id ?? address, told.get(address)]
    const knows = so?.rev === known.rev && Object.keys(known.tripped).every((id) => so.trips.has(id))
    return { name, agrees: knows && alive.has(name) }
  })
  return [{ name: replica.id, agrees: true }, ...others]
}

/** One round. Never throws. */
async function turn(room: PeerRoom): Promise<void> {
  await room.roster.refresh()
  await tellAll(room)
  if (hearsMost(room, goneMs(room))) {
    if (room.roster.size() === 1) room.contact.answered(0)
  } else room.contact.failed()
  const addresses = new Set(room.roster.addresses())
  for (const address of room.told.keys()) if (!addresses.has(address)) room.told.delete(address)
  // Somebody may have been promised a higher fence, who is not there any more.
  const leading = (leads(room)?.fence ?? -1) >= room.highest
  if (!leading && isNext(room) && hearsMost(room, goneMs(room))) await claim(room)
}

function respond(room: PeerRoom, from: Replica, message: PeerMessage): PeerAnswer {
  const isSelf = from.id === room.replica.id
  if (isSelf && from.boot !== room.replica.boot) {
    room.log.error({ replica: from.id }, 'two replicas have one name; neither can be told from the other')
  }
  if (isSelf) return answerOf(room, false, Number.MAX_SAFE_INTEGER)
  room.roster.heard(from)
  if (message.kind === 'tell') return told(room, from, message)
  return message.kind === 'claim' ? claimed(room, from, message) : proposed(room, from, message)
}
