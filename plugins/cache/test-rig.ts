import { createTestHost, type TestHost, type TestHostOverrides } from '../../test/support/host.ts'
import { type Call, createCall, type Principal } from '../call.ts'
import type { Chunk, Route } from '../chat.ts'
import { type Completion, chunksFromCompletion } from '../chunks.ts'
import type { Mode } from '../layer.ts'
import { type Reply, replyFromBytes } from '../reply.ts'
import { through } from '../stack.ts'
import type { CacheConfig } from './config.ts'
import { type CacheActing, cache } from './index.ts'

/** How a test asks. */
export interface Ask {
  readonly tenant?: string | null
  readonly route?: Route
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  readonly mode?: Mode
}

/** What a caller got, read to its end. */
export interface Got {
  readonly status: string
  readonly source: Reply['source']
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

/** The layer alone around a runner that the test plays. */
export interface Rig {
  readonly host: TestHost
  readonly acting: CacheActing
  /** Calls that reached the runner, oldest first. */
  readonly reached: Call[]
  /** What the runner says; at first a whole answer in the asked shape. */
  runner: (call: Call) => Promise<Reply>
  /** The reply, unread. */
  open(body: object, ask?: Ask): Promise<Reply>
  ask(body: object, ask?: Ask): Promise<Got>
}

let calls = 0

/** Makes a {@link Rig}; `config` is checked as an operator's would be. */
export function createRig(config: Partial<CacheConfig> = {}, overrides: TestHostOverrides = {}): Rig {
  const host = createTestHost(overrides)
  const acting = cache.open(cache.config.parse(config), host) as CacheActing
  const reached: Call[] = []
  const rig: Rig = {
    host,
    acting,
    reached,
    runner: async (call) => answerTo(call, completion()),
    async open(body, ask = {}) {
      const { route = 'chat', headers = {}, signal = new AbortController().signal, mode = 'enforce' } = ask
      const tenant = ask.tenant === undefined ? 't1' : ask.tenant
      const facts = { client_ip: '127.0.0.1', ...(tenant === null ? {} : { principal: principalOf(tenant) }) }
      const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
      const call = createCall({
        id: `call-${calls++}`,
        route,
        now: host.clock.now(),
        body: bytes,
        headers,
        facts,
        signal,
      })
      const inside = (inner: Call): Promise<Reply> => {
        reached.push(inner)
        return rig.runner(inner)
      }
      return through([{ name: 'cache', acting, mode }], call, { inside, witness: { heard() {} } })
    },
    async ask(body, ask) {
      return read(await rig.open(body, ask))
    },
  }
  return rig
}

/** A reply read to its end. */
export async function read(reply: Reply): Promise<Got> {
  const parts: Buffer[] = []
  for await (const part of reply.bytes()) parts.push(part)
  const { source, headers } = reply
  return { status: headers['cache-status'] ?? '', source, headers, text: Buffer.concat(parts).toString('utf8') }
}

/** A chat request with one user message. */
export function chat(content: unknown, more: object = {}): Record<string, unknown> {
  return { model: 'small', messages: [{ role: 'user', content }], ...more }
}

/** A whole chat answer. */
export function completion(content = 'hello', more: object = {}): Completion {
  return {
    id: 'c1',
    object: 'chat.completion',
    created: 1,
    model: 'small',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    ...more,
  }
}

/** An answer as a runner sends it, in the shape the call asks for. */
export function answerTo({ request }: Call, whole: Completion): Reply {
  if (request.stream !== true) return jsonReply(whole)
  return streamReply(chunksFromCompletion(whole, true).map(eventOf).concat(done))
}

/** A JSON answer of a runner. */
export function jsonReply(body: object, status = 200): Reply {
  return replyFromBytes({ status, streamed: false, source: 'runner' }, 'json', segments([JSON.stringify(body)]))
}

/** A stream of a runner, one network read a segment. */
export function streamReply(parts: Iterable<string | Buffer> | AsyncIterable<string | Buffer>): Reply {
  return replyFromBytes(
    { status: 200, streamed: true, includeUsage: true, source: 'runner' },
    'events',
    segments(parts),
  )
}

/** The end mark of a stream. */
export const done = 'data: [DONE]\n\n'

/** A chunk as an event. */
export function eventOf(chunk: Chunk | object): string {
  return `data: ${JSON.stringify(chunk)}\n\n`
}

async function* segments(parts: Iterable<string | Buffer> | AsyncIterable<string | Buffer>): AsyncGenerator<Buffer> {
  for await (const part of parts) yield Buffer.from(part as string)
}

function principalOf(tenant: string): Principal {
  return { id: 'u1', tenant, tier: 'free', scopes: [], claims: { user_id: 'u1' }, method: 'api-key' }
}
