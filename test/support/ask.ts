import { connect, type RawClient, type RequestInput } from './client.ts'
import type { HeaderInput } from './reply.ts'
import type { LiveResponse, ResponseEnd } from './response.ts'

/** A response that is over. */
export interface Answer extends LiveResponse {
  readonly ended: ResponseEnd['how']
  readonly trailers: readonly string[]
}

/** A response on its way together with its connection, which goes when this is disposed. */
export interface Asking extends AsyncDisposable {
  readonly client: RawClient
  readonly response: LiveResponse
}

/** Sends one request on a connection of its own and resolves when the response is over; `waitMs` bounds each wait. */
export async function ask(url: string, request: RequestInput = {}, waitMs?: number): Promise<Answer> {
  await using asking = await begin(url, request, waitMs)
  const { how, trailers } = await asking.response.done(waitMs)
  return Object.defineProperties(asking.response as Answer, { ended: { value: how }, trailers: { value: trailers } })
}

/** As `ask`, but resolves at the head of the response and leaves the rest to the caller. */
export async function begin(url: string, request: RequestInput = {}, waitMs?: number): Promise<Asking> {
  const client = await connect(url)
  try {
    await client.request(request)
    const response = await client.response({
      headOnly: request.method === 'HEAD',
      ...(waitMs !== undefined && { waitMs }),
    })
    return { client, response, [Symbol.asyncDispose]: async () => client.close() }
  } catch (fault) {
    client.close()
    throw fault
  }
}

/** Posts JSON (text and bytes as they are) and resolves with the whole answer. */
export function post(url: string, body: unknown, headers: HeaderInput = {}): Promise<Answer> {
  return ask(url, { body, headers })
}

/** Posts JSON and resolves at the head of the answer: for streams. */
export function postLive(url: string, body: unknown, headers: HeaderInput = {}): Promise<Asking> {
  return begin(url, { body, headers })
}

/** Gets and resolves with the whole answer. */
export function get(url: string, headers: HeaderInput = {}): Promise<Answer> {
  return ask(url, { headers })
}
