import { type Runner, type RunnerOptions, startRunner } from './runner.ts'

/** Options of an echo runner, for tests. */
export type Echo = Omit<RunnerOptions & { engine: 'echo' }, 'engine'>

/** A runner with the echo engine on a free port. */
export const startEcho = (options: Echo = {}): Promise<Runner> => startRunner({ engine: 'echo', ...options })

/** One user message. */
export const user = (content: string) => [{ role: 'user' as const, content }]

/** Posts JSON, or a string as it is. */
export function post(url: string, body: unknown, init: RequestInit = {}): Promise<Response> {
  const headers = { 'content-type': 'application/json', ...(init.headers as Record<string, string>) }
  const sent = typeof body === 'string' ? body : JSON.stringify(body)
  return fetch(url, { method: 'POST', body: sent, ...init, headers })
}

/** Posts a chat that says "one two three", with further members. */
export const chat = (url: string, body: object, init?: RequestInit): Promise<Response> =>
  post(`${url}/v1/chat/completions`, { messages: user('one two three'), ...body }, init)

/** What the events of a stream carry. */
export const eventsFrom = (text: string): string[] =>
  text
    .split('\n\n')
    .filter(Boolean)
    .map((event) => event.replace(/^data: /, ''))
