import { modelFrom } from '../generation.ts'
import { refusal } from '../refusal.ts'
import { bodyFrom, type Route } from './route.ts'

/** `POST /tokenize`: the exact tokens that `prompt` or `messages` become, without running the model. */
export const tokenize: Route = {
  method: 'POST',
  path: '/tokenize',
  async answer(asked, { engine }) {
    const body = bodyFrom(asked)
    if (body['prompt'] === undefined && body['messages'] === undefined)
      throw refusal('missing_parameter', 'prompt or messages is missing', { param: 'prompt' })
    await modelFrom(body, engine)
    const { tokens, contextTokens } = await engine.tokenize(body, asked.signal)
    return { status: 200, body: { count: tokens.length, max_model_len: contextTokens ?? null, tokens } }
  },
}
