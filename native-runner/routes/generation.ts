import type { Body, Job } from '../engine.ts'
import { booleanField, invalid, objectField, stringField } from '../fields.ts'
import { refusal } from '../refusal.ts'
import { begun, eventsFromPieces, streamHeaders } from '../stream.ts'
import { wholeFromPieces } from '../whole.ts'
import { createEnvelope } from '../wire.ts'
import { type Answer, type Asked, bodyFrom, modelFrom, type Room, type Route } from './route.ts'

/** Whose cached prompts a call may meet: `cache_salt`, else `user`, else everybody's. */
function scopeFrom(body: Body): string {
  return stringField(body, 'cache_salt') ?? stringField(body, 'user') ?? ''
}

function includeUsageFrom(body: Body, streamed: boolean): boolean {
  const options = objectField(body, 'stream_options')
  if (options === undefined) return false
  if (!streamed) throw invalid('stream_options', 'is only allowed when stream is true')
  if (options['include_usage'] !== undefined && typeof options['include_usage'] !== 'boolean')
    throw invalid('stream_options.include_usage', 'must be a boolean')
  return options['include_usage'] === true
}

async function generate(kind: Job['kind'], asked: Asked, room: Room): Promise<Answer> {
  const body = bodyFrom(asked)
  const streamed = booleanField(body, 'stream')
  const includeUsage = includeUsageFrom(body, streamed)
  const required = kind === 'chat' ? 'messages' : 'prompt'
  if (body[required] === undefined || body[required] === null)
    throw refusal('missing_parameter', `${required} is missing`, { param: required })
  const job = { kind, body, scope: scopeFrom(body) }
  const { id } = await modelFrom(body, room.engine)
  const envelope = createEnvelope(kind, id, includeUsage)
  const pieces = room.meter.counted(room.engine.generate(job, asked.signal))
  if (!streamed) return { status: 200, body: await wholeFromPieces(envelope, pieces) }
  const events = eventsFromPieces(envelope, await begun(pieces, asked.signal), asked.signal)
  return { status: 200, headers: streamHeaders, body: events }
}

/** `POST /v1/chat/completions` */
export const chat: Route = {
  method: 'POST',
  path: '/v1/chat/completions',
  answer: (asked, room) => generate('chat', asked, room),
}

/** `POST /v1/completions` */
export const completions: Route = {
  method: 'POST',
  path: '/v1/completions',
  answer: (asked, room) => generate('completion', asked, room),
}
