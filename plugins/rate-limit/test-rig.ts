import { createTestHost, type TestHost, type TestHostOverrides } from '../../test/support/host.ts'
import { type Call, createCall, type Facts } from '../call.ts'
import type { Chunk, Route, Usage } from '../chat.ts'
import type { GatewayError } from '../errors.ts'
import type { Mode } from '../layer.ts'
import { type Reply, type ReplyInit, replyFromBytes, replyFromCompletion } from '../reply.ts'
import { through } from '../stack.ts'
import { type RateLimitActing, rateLimit } from './index.ts'

/** One call of a test: who, what, and what the runner does. */
export interface Ask {
  readonly tenant?: string
  readonly tier?: string
  readonly ip?: string
  /** Words of the prompt; the test host counts words as tokens. */
  readonly words?: number
  readonly route?: Route
  readonly mode?: Mode
  readonly request?: object
  readonly body?: Buffer
  readonly signal?: AbortSignal
  /** What the runner answers; default: a JSON answer that used 10 tokens of output. */
  readonly inside?: (call: Call) => Promise<Reply> | Reply
}

/** What became of it. */
export interface Got {
  readonly error?: GatewayError
  readonly reply?: Reply
  readonly text: string
  readonly headers: Readonly<Record<string, string>>
}

/** The layer over a test host, and calls through it. */
export interface Rig {
  readonly host: TestHost
  readonly acting: RateLimitActing
  callOf(ask?: Ask): Call
  /** Runs a call and reads its answer to the end; what fails is in `error`. */
  ask(ask?: Ask): Promise<Got>
  /** Runs a call up to its reply, unread. Throws what refuses it. */
  start(ask?: Ask): Promise<Reply>
}

let calls = 0

/** Opens the layer with a configuration. */
export function createRig(config: object, overrides: TestHostOverrides = {}): Rig {
  const host = createTestHost(overrides)
  const acting = rateLimit.open(rateLimit.config.parse(config), host) as RateLimitActing
  const callOf = (ask: Ask = {}): Call =>
    createCall({
      id: `call-${calls++}`,
      route: ask.route ?? 'chat',
      now: host.clock.now(),
      body: ask.body ?? Buffer.from(JSON.stringify(requestOf(ask))),
      headers: {},
      facts: factsOf(ask),
      signal: ask.signal ?? new AbortController().signal,
    })
  const start = (ask: Ask = {}): Promise<Reply> => {
    const seat = { name: 'rate-limit', acting, mode: ask.mode ?? 'enforce' } as const
    const inside = async (call: Call): Promise<Reply> => (ask.inside ?? answering(10))(call)
    return through([seat], callOf(ask), { inside, witness: { heard() {} } })
  }
  return {
    host,
    acting,
    callOf,
    start,
    async ask(ask) {
      let reply: Reply | undefined
      let text = ''
      try {
        reply = await start(ask)
        for await (const bytes of reply.bytes()) text += bytes
        return { reply, text, headers: reply.headers }
      } catch (reason) {
        const error = reason as GatewayError
        return { error, text, headers: reply?.headers ?? error.detail.headers ?? {}, ...(reply ? { reply } : {}) }
      }
    },
  }
}

function factsOf({ tenant, tier = '', ip = '127.0.0.1' }: Ask): Partial<Facts> {
  if (tenant === undefined) return { client_ip: ip }
  return {
    client_ip: ip,
    principal: { id: `user-of-${tenant}`, tenant, tier, scopes: [], claims: {}, method: 'api-key' },
  }
}

function requestOf({ words = 10, request }: Ask): object {
  const content = Array.from({ length: words }, () => 'word').join(' ')
  return { model: 'small', messages: [{ role: 'user', content }], max_tokens: 10, ...request }
}

const promptWords = (call: Call): number => String(call.request.messages?.[0]?.content ?? '').split(' ').length

/** A runner that answers with JSON, having used the prompt and so many output tokens. */
export function answering(output: number, init: Partial<ReplyInit> = {}) {
  return (call: Call): Reply =>
    replyFromCompletion(
      { status: 200, streamed: false, source: 'runner', ...init },
      {
        object: 'chat.completion',
        choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: promptWords(call), completion_tokens: output },
      },
    )
}

/** A runner that streams one word a chunk, and its usage at the end where given. */
export function streaming(words: number, { usage, failAfter }: { usage?: Usage; failAfter?: number } = {}) {
  return (): Reply => {
    async function* bytes(): AsyncGenerator<Buffer> {
      for (let i = 0; i < words; i++) {
        if (i === failAfter) throw new Error('the connection was reset')
        yield event({ choices: [{ index: 0, delta: { content: `w${i} ` } }] })
      }
      yield event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })
      if (usage) yield event({ choices: [], usage })
      yield Buffer.from('data: [DONE]\n\n')
    }
    return replyFromBytes({ status: 200, streamed: true, source: 'runner' }, 'events', bytes())
  }
}

function event(chunk: Chunk): Buffer {
  return Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`)
}
