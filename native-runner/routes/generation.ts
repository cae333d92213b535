import type { Job } from '../engine.ts'
import { generationFrom } from '../generation.ts'
import { begun, eventsFromPieces, streamHeaders } from '../stream.ts'
import { wholeFromPieces } from '../whole.ts'
import { type Answer, type Asked, bodyFrom, type Room, type Route } from './route.ts'

async function generate(kind: Job['kind'], asked: Asked, room: Room): Promise<Answer> {
  const { signal, headers } = asked
  const { streamed, envelope, pieces } = await generationFrom({ kind, body: bodyFrom(asked), signal, headers }, room)
  if (!streamed) return { status: 200, body: await wholeFromPieces(envelope, pieces) }
  return { status: 200, headers: streamHeaders, body: eventsFromPieces(envelope, await begun(pieces, signal), signal) }
}

/** `POST /v1/chat/completions` */
export const chat: Route = {
  method: 'POST',
  path: '/v1/chat/completions',
  executes: ['chat', 'messages'],
  answer: (asked, room) => generate('chat', asked, room),
}

/** `POST /v1/completions` */
export const completions: Route = {
  method: 'POST',
  path: '/v1/completions',
  executes: ['completions'],
  answer: (asked, room) => generate('completion', asked, room),
}
