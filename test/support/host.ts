import { hkdfSync } from 'node:crypto'
import { createEmbeddedStore, type EmbeddedStore } from '../../config/store/embedded.ts'
import type { Call } from '../../plugins/call.ts'
import { type ChatRequest, outputLimit, textOfMessage } from '../../plugins/chat.ts'
import { gatewayError } from '../../plugins/errors.ts'
import type { Count, Host, Http, HttpAnswer, HttpRequest, Log, RunnerBoard } from '../../plugins/host.ts'
import type { TokenCounter } from '../../plugins/tokens.ts'
import { createManualClock, type ManualClock } from './clock.ts'

/** One line of a test's log. */
export interface LogLine {
  readonly level: 'info' | 'warn' | 'error'
  readonly fields: Readonly<Record<string, unknown>>
  readonly message: string
}

/** What a test answers for one URL. */
export type HttpDouble = (request: HttpRequest, url: string) => Partial<HttpAnswer> | Promise<Partial<HttpAnswer>>

/** A Host for tests: the clock is moved by hand, the store is this process's memory, and whatever goes through it is recorded. */
export interface TestHost extends Host {
  readonly clock: ManualClock
  readonly store: EmbeddedStore
  /** Answers by URL; a URL that is not in it throws `runner_unreachable`. Change it at any time. */
  readonly answers: Map<string, HttpDouble>
  /** What was sent, oldest first. */
  readonly sent: { readonly url: string; readonly request: HttpRequest }[]
  readonly lines: LogLine[]
  /** How often each thing was counted. */
  readonly counts: Map<Count, number>
  /** What a runner's `/tokenize` would say; `tokens.exact` gives it. */
  exact: (call: Call) => number | undefined
  /** What `tokens.learn` was told. */
  readonly learned: { readonly request: ChatRequest; readonly usage: unknown }[]
  /** Ends the configuration: aborts `closed`. */
  end(): void
}

/** What a test changes of its Host. Files are by path; runners' states and answers as the board gives them. */
export type TestHostOverrides = Partial<Omit<Host, 'file'>> & { readonly files?: Readonly<Record<string, string>> }

/** Makes a {@link TestHost}. An override given for a door is what layers get, also where recording stops by that. */
export function createTestHost(overrides: TestHostOverrides = {}): TestHost {
  const { files = {}, ...doors } = overrides
  const clock = createManualClock()
  const closing = new AbortController()
  const lines: LogLine[] = []
  const counts = new Map<Count, number>()
  const host = {
    side: 'gateway' as const,
    clock,
    store: createEmbeddedStore((doors.clock as ManualClock | undefined) ?? clock),
    answers: new Map<string, HttpDouble>(),
    sent: [] as TestHost['sent'],
    lines,
    counts,
    learned: [] as TestHost['learned'],
    exact: (_call: Call): number | undefined => undefined,
    end: () => closing.abort(),
    log: logInto(lines),
    runners: noRunners,
    declared: new Set(['user_id', 'plan']),
    conversationHeader: 'x-conversation-id',
    models: ['small', 'large'],
    trusts: (address: string) => address === '127.0.0.1',
    secret: (purpose: string) => Buffer.from(hkdfSync('sha256', 'a test key', '', purpose, 32)),
    file: (path: string) => fileOf(files, path),
    count: (what: Count, by = 1) => void counts.set(what, (counts.get(what) ?? 0) + by),
    closed: closing.signal,
    http: undefined as unknown as Http,
    tokens: undefined as unknown as TokenCounter,
  }
  host.http = httpOver(host)
  host.tokens = wordCounter(host)
  return Object.assign(host, doors) as TestHost
}

function logInto(lines: LogLine[]): Log {
  const write = (level: LogLine['level']) => (fields: LogLine['fields'], message: string) =>
    void lines.push({ level, fields, message })
  return { info: write('info'), warn: write('warn'), error: write('error') }
}

function fileOf(files: Readonly<Record<string, string>>, path: string): Buffer {
  const text = files[path]
  if (text === undefined) throw gatewayError('config_invalid', `file ${path} cannot be read`)
  return Buffer.from(text)
}

function httpOver(host: Pick<TestHost, 'answers' | 'sent'>): Http {
  return {
    async send(url, request) {
      host.sent.push({ url, request })
      const answer = host.answers.get(url)
      if (!answer) throw gatewayError('runner_unreachable', `nothing answers at ${url}`)
      return { status: 200, headers: {}, body: Buffer.alloc(0), ...(await answer(request, url)) }
    },
  }
}

/** Counts words of the prompt; expects 100 tokens of output where the request does not say. Exact arithmetic for tests. */
function wordCounter(host: Pick<TestHost, 'exact' | 'learned'>): TokenCounter {
  const count = (text: string): number => text.split(/\s+/).filter(Boolean).length
  const promptOf = (request: ChatRequest): string =>
    request.messages?.map(textOfMessage).join(' ') ?? [request.prompt ?? request.input ?? ''].flat().join(' ')
  return {
    estimate: (request) => ({
      input: count(promptOf(request)),
      error: 0,
      output: request.input === undefined ? (outputLimit(request) ?? 100) * (request.n ?? 1) : 0,
    }),
    count: (text) => count(text),
    exact: async (call) => host.exact(call),
    learn: (request, usage) => void host.learned.push({ request, usage }),
  }
}

const noRunners: RunnerBoard = {
  names: [],
  state: () => ({ available: true, retryAfterMs: 0, outstandingTokens: 0 }),
  ask: async ({ runner }) => {
    throw gatewayError('runner_unreachable', `there is no runner ${runner}`)
  },
}
