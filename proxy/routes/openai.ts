import type { Reply } from '../../plugins/reply.ts'
import type { Answer } from '../answer.ts'
import { openai } from '../dialect.ts'
import type { InferenceRoute } from './inference.ts'

function passOn(reply: Reply): Answer {
  const { status, headers } = reply
  if (reply.streamed && reply.ok) return { status, headers, streamed: true, parts: reply.bytes() }
  return { status, headers, streamed: false, whole: () => reply.whole() }
}

/** `POST /v1/chat/completions` (OpenAI). */
export const chat: InferenceRoute = { route: 'chat', path: '/v1/chat/completions', dialect: openai, toAnswer: passOn }

/** `POST /v1/completions` (OpenAI, legacy). */
export const completions: InferenceRoute = {
  route: 'completions',
  path: '/v1/completions',
  dialect: openai,
  toAnswer: passOn,
}

/** `POST /v1/embeddings` (OpenAI). */
export const embeddings: InferenceRoute = {
  route: 'embeddings',
  path: '/v1/embeddings',
  dialect: openai,
  toAnswer: passOn,
}
