import { anthropicErrorBody, type GatewayError, openaiErrorBody } from '../plugins/errors.ts'

/** How errors are said on a route. */
export interface Dialect {
  readonly name: 'openai' | 'anthropic'
  /** The body of an error answer. */
  errorBody(error: GatewayError, requestId: string): unknown
  /** An error as the last event of a stream that had begun. There is no end mark after it. */
  errorEvent(error: GatewayError, requestId: string): string
}

/** OpenAI's API. */
export const openai: Dialect = {
  name: 'openai',
  errorBody: (error) => openaiErrorBody(error),
  errorEvent: (error) => `data: ${JSON.stringify(openaiErrorBody(error))}\n\n`,
}

/** Anthropic's messages API. */
export const anthropic: Dialect = {
  name: 'anthropic',
  errorBody: (error, requestId) => anthropicErrorBody(error, requestId),
  errorEvent: (error, requestId) => `event: error\ndata: ${JSON.stringify(anthropicErrorBody(error, requestId))}\n\n`,
}

/** The dialect of a path, for errors that come before a route is known. */
export function dialectOfPath(path: string): Dialect {
  return path.startsWith('/v1/messages') ? anthropic : openai
}
