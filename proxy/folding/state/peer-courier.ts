import { gatewayError } from '../../../plugins/errors.ts'
import { type PeerAnswer, type PeerMessage, peerAnswerSchema, peerMessageSchema } from './peer-messages.ts'
import type { PeerSeal } from './peer-seal.ts'
import type { Replica } from './replica.ts'
import type { Timers } from './timers.ts'

/** Sends a body to `POST /-/peers` of an address (`host:port`) and gives back what came. Throws when nothing came. */
export type Send = (address: string, body: string) => Promise<PeerReply>

/** What the endpoint answers. */
export interface PeerReply {
  readonly status: number
  readonly body: string
}

/** Carries messages: signed there, and signed back. */
export interface Courier {
  /** Asks the replica at an address. Throws `runner_unreachable` when it does not answer in time, or with nothing that can be believed. */
  ask(address: string, message: PeerMessage): Promise<{ readonly from: Replica; readonly answer: PeerAnswer }>
  /** Takes in a body that was sent here; `respond` says what to answer. Never throws. */
  receive(body: string, respond: (from: Replica, message: PeerMessage) => PeerAnswer): PeerReply
}

/** What a {@link Courier} is made of. */
export interface CourierParts {
  readonly seal: PeerSeal
  readonly send: Send
  readonly timers: Timers
  /** How long an answer may take, in milliseconds. */
  readonly timeoutMs: number
}

/** Makes a {@link Courier}. */
export function createCourier({ seal, send, timers, timeoutMs }: CourierParts): Courier {
  return {
    async ask(address, message) {
      const { token, jti } = seal.seal(message)
      const { status, body } = await inTime(timers, timeoutMs, send(address, bodyOf(token)))
      if (status !== 200) throw unheard(`it answered ${status}: ${body.slice(0, 200)}`)
      const opening = seal.answer(tokenFrom(body) ?? '', jti)
      if (!opening.ok) throw unheard(`its answer is not believed: ${opening.why}`)
      const { from, payload } = opening.opened
      if (peerAnswerSchema.faults(payload).length > 0) throw unheard('its answer is not understood')
      return { from, answer: payload as unknown as PeerAnswer }
    },
    receive(body, respond) {
      const token = tokenFrom(body)
      if (token === undefined) return refusal(400, 'a body is an object with a token')
      const opening = seal.message(token)
      if (!opening.ok) return refusal(401, opening.why)
      const { from, payload, jti } = opening.opened
      if (peerMessageSchema.faults(payload).length > 0) return refusal(400, 'the message is not understood')
      return { status: 200, body: bodyOf(seal.seal(respond(from, payload as unknown as PeerMessage), jti).token) }
    },
  }
}

const bodyOf = (token: string): string => JSON.stringify({ token })

function tokenFrom(body: string): string | undefined {
  try {
    const { token } = JSON.parse(body) as { token?: unknown }
    return typeof token === 'string' ? token : undefined
  } catch {
    return undefined
  }
}

function refusal(status: number, why: string): PeerReply {
  return { status, body: JSON.stringify({ error: why }) }
}

function unheard(why: string) {
  return gatewayError('runner_unreachable', `a replica cannot be asked: ${why}`)
}

function inTime<T>(timers: Timers, ms: number, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = timers.after(ms, () => reject(unheard('it does not answer')))
    promise.then(resolve, reject).finally(cancel)
  })
}
