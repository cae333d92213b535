import type { Reply } from '../../plugins/reply.ts'
import type { Answer } from '../answer.ts'
import { openai } from '../dialect.ts'
import type { InferenceRoute } from './inference.ts'

const passOn = (reply: Reply): Answer => ({
  status: reply.status,
  headers: reply.headers,
  streamed: reply.streamed && reply.ok,
  parts: reply.bytes(),
})

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
