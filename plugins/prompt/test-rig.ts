import { createTestHost, type TestHost } from '../../test/support/host.ts'
import { type Call, createCall } from '../call.ts'
import type { ChatRequest, Message, Usage } from '../chat.ts'
import type { FoldSource, Host, Seat } from '../host.ts'
import type { Acting } from '../layer.ts'
import { type Reply, replyFromCompletion } from '../reply.ts'
import { through } from '../stack.ts'
import { prompt } from './index.ts'
import type { PromptRule } from './rule.ts'

/** A layer under test, its Host, and a way to ask it. */
export interface Rig {
  readonly host: TestHost
  readonly acting: Acting
  /** Runs a call over the layer; every request that came further in, and what came back. */
  run(
    call: Call,
    inside?: (request: ChatRequest) => Reply,
  ): Promise<{ sent: ChatRequest[]; facts: Call['facts']; reply: Reply }>
  /** The messages that came further in. */
  messages(call: Call): Promise<readonly Message[] | undefined>
}

/** Opens the layer on a config; `doors` change the Host. */
export async function openRig(
  config: object,
  doors: Partial<Host> & { files?: Record<string, string> } = {},
): Promise<Rig> {
  const host = createTestHost(doors as never)
  const acting = await prompt.open(prompt.config.parse(config), host)
  const run: Rig['run'] = async (call, inside = () => answered('fine')) => {
    const sent: ChatRequest[] = []
    let facts: Call['facts'] = {}
    const reply = await through([{ name: 'prompt', acting, mode: 'enforce' }], call, {
      witness: { heard() {} },
      inside: async (inner) => {
        sent.push(inner.request)
        facts = inner.facts
        return inside(inner.request)
      },
    })
    return { sent, facts, reply }
  }
  return { host, acting, run, messages: async (call) => (await run(call)).sent[0]?.messages }
}

/** What a test says of a call. */
export interface Asking {
  readonly headers?: Readonly<Record<string, string>>
  readonly tier?: string
  readonly tenant?: string
  readonly claims?: Readonly<Record<string, unknown>>
  readonly now?: number
  readonly target?: string
}

let calls = 0

/** A chat call; without messages the user says hello. */
export function ask(body: object = {}, asking: Asking = {}): Call {
  const { headers = {}, tier = 'free', tenant = 't1', claims = {}, now = 1_785_000_000_000, target } = asking
  const request = { model: 'small', messages: [{ role: 'user', content: 'hello' }], ...body }
  const principal = { id: 'u1', tenant, tier, scopes: ['read'], claims, method: 'jwt' as const }
  const facts = { client_ip: '127.0.0.1', principal, ...(target && { target: [{ runner: 'a', model: target }] }) }
  const bytes = Buffer.from(JSON.stringify(request))
  const { signal } = new AbortController()
  return createCall({ id: `p-${calls++}`, route: 'chat', now, body: bytes, headers, facts, signal })
}

/** An answer of the runner. */
export function answered(text: string, change: { streamed?: boolean; usage?: Usage; message?: object } = {}): Reply {
  const { streamed = false, usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 }, message } = change
  const choices = [{ index: 0, message: { role: 'assistant', content: text, ...message }, finish_reason: 'stop' }]
  return replyFromCompletion({ status: 200, streamed, includeUsage: true, source: 'runner' }, { choices, usage })
}

/** The runner's doors of a test. */
export function seatOf(doors: Parameters<typeof createTestHost>[0] = {}): Seat & TestHost {
  return Object.assign(createTestHost({ side: 'runner', declared: new Set(), ...doors }), {
    allows: () => true,
    has: () => true,
  })
}

/** The step of a configuration, as it arrives at a runner; `source` says what folding reads beside it. */
export function stepOf(
  config: object,
  source: Partial<FoldSource> & { files?: Record<string, string> } = {},
): PromptRule {
  const { file, declared, conversationHeader } = createTestHost(source as never)
  const doors = { file, declared, conversationHeader, secret: (path: string) => path }
  const step = prompt.fold?.(prompt.config.parse(config), { ...doors, ...source })
  return JSON.parse(JSON.stringify(step)) as PromptRule
}
