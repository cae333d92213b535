import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { get } from '../support/ask.ts'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'
import { type Script, startUpstream, type Upstream, type UpstreamOptions } from '../support/upstream.ts'
import { type Stack, spliced } from './stacks.ts'

/** A gateway in front of one scripted upstream. */
export interface Rig extends AsyncDisposable {
  readonly u: Upstream
  readonly gateway: TestGateway
  /** URLs of the routes. */
  readonly chat: string
  readonly completions: string
  readonly messages: string
}

/** What differs from the plain case. */
export interface RigOptions {
  readonly stack?: Stack
  /** More settings of the runner. */
  readonly runner?: Readonly<Record<string, unknown>>
  readonly config?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly upstream?: UpstreamOptions
}

/** Starts both; disposing ends the gateway, then the upstream. */
export async function startRig(script: Script, options: RigOptions = {}): Promise<Rig> {
  const u = await startUpstream(script, options.upstream)
  const gateway = await startTestGateway({
    runners: [{ url: u.url, ...options.runner }],
    layers: (options.stack ?? spliced).layers,
    ...(options.config && { config: options.config }),
  })
  return {
    u,
    gateway,
    ...routesOf(gateway.url),
    [Symbol.asyncDispose]: async () => {
      await gateway[Symbol.asyncDispose]()
      await u[Symbol.asyncDispose]()
    },
  }
}

/** A gateway's routes. */
export function routesOf(url: string): Pick<Rig, 'chat' | 'completions' | 'messages'> {
  return { chat: `${url}/v1/chat/completions`, completions: `${url}/v1/completions`, messages: `${url}/v1/messages` }
}

let asked = 0

/** A chat request; each asks something else, so that no cache answers it. */
export function chatRequest(more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return { model: 'rig-model', messages: [{ role: 'user', content: `question ${++asked}` }], ...more }
}

/** A chat request that asks for a stream. */
export function streamRequest(more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return chatRequest({ stream: true, ...more })
}

/** A request of Anthropic's messages route. */
export function messageRequest(more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return chatRequest({ max_tokens: 100, ...more })
}

/** The sum of a counter's samples whose labels match, from the gateway's `/metrics`. */
export async function counted(gateway: TestGateway, name: string, labels: RegExp = /./): Promise<number> {
  const { text } = await get(`${gateway.adminUrl}/metrics`)
  const samples = text.split('\n').filter((line) => line.startsWith(`foldgate_${name}`) && labels.test(line))
  return samples.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

/**
 * Watches how long this process keeps its event loop: the most time, in milliseconds of this thread's CPU, that one turn took since. CPU, so
 * that other processes on the machine do not count.
 */
export function watchTurns(): { stop(): number } {
  let longest = 0
  let last = threadMs()
  let next: NodeJS.Immediate
  const look = (): void => {
    const now = threadMs()
    longest = Math.max(longest, now - last)
    last = now
    next = setImmediate(look)
  }
  look()
  return {
    stop() {
      clearImmediate(next)
      return longest
    },
  }
}

/** CPU time of this thread, in milliseconds; before Node 23.9, the time that has passed. */
export function threadMs(): number {
  const usage = process.threadCpuUsage?.()
  return usage ? (usage.user + usage.system) / 1000 : performance.now()
}

/** What this process holds outside the kernel, in bytes, once what nobody needs is gone. */
export function heldBytes(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
