import type { Call } from '../plugins/call.ts'
import { errorKinds, type GatewayError, gatewayError, gatewayErrorFrom } from '../plugins/errors.ts'
import type { HeaderNames } from '../plugins/headers.ts'
import type { RunnerQuestion } from '../plugins/host.ts'
import type { Ending, Reply, Target } from '../plugins/reply.ts'
import { wholeBody } from '../plugins/reply-bytes.ts'
import { type AttemptPlace, type AttemptWatch, askOnce, attemptOnce } from './attempt.ts'
import { type Exchange, send } from './exchange.ts'
import type { CallFold } from './folding/call-fold.ts'
import type { Instances } from './folding/processes/instances.ts'
import type { FoldedExchange, SendFolded } from './folding/send.ts'
import type { SentCall } from './folding/shadow/stream-side.ts'
import { type Line, openLine } from './line.ts'
import { type Board, createRetryBudget, type Outcome } from './runner-board.ts'
import type { RetrySettings, RunnerSettings } from './runner-settings.ts'
import { tokenizeOnce } from './tokenize.ts'

/** What a call brings along to the runner beside itself. */
export interface CallOptions {
  /** A layer reads usage: streams are asked to report it. */
  readonly meter: boolean
  /** Members of the request that answers are held to here: a runner that refuses one is asked without it. */
  readonly enforces: readonly string[]
  /** The body bears directives, which nobody but a runner that executes layers may see. */
  readonly directed: boolean
  /** How the call is split with the runner; absent where every layer sits here. */
  readonly folding?: Folding
  /** Begins to watch one try: a client span. */
  watch(place: AttemptPlace): AttemptWatch
}

/** What of a call is the runner's, and how that is said to it. */
export interface Folding {
  readonly fold: CallFold
  readonly send: SendFolded
  /** The runner that the call goes to where the runner itself chooses the model. */
  readonly home: string | undefined
  /** An acknowledged answer has begun: its exchange, looked at where it is a stream that must be. */
  tapped(folded: FoldedExchange, sent: SentCall): Exchange
  /** An acknowledged answer has ended. */
  ended(folded: FoldedExchange, ending: Ending, call: Call): void
}

/** Calls runners: retries, fallback along the target list, ejection. */
export interface RunnerClient {
  /** Throws `runner_*`, `no_capacity` or `client_closed` when no target answers. */
  call(call: Call, options: CallOptions): Promise<Reply>
  /** See {@link RunnerQuestion}. */
  ask(question: RunnerQuestion): Promise<string>
  /** A GET on every runner's path, for `/v1/models` and health; those that fail are left out. */
  getAll(path: string, signal: AbortSignal): Promise<{ runner: string; body: Buffer }[]>
  /** The exact prompt tokens of a call by a runner's `/tokenize`; undefined when none of them can tell. */
  tokenize(call: Call, signal: AbortSignal): Promise<number | undefined>
  close(): Promise<void>
}

/** What the client is made from. */
export interface RunnerClientParts {
  readonly runners: readonly RunnerSettings[]
  readonly retry: RetrySettings
  readonly board: Board
  readonly names: HeaderNames
  /** The processes behind runners that execute layers. */
  readonly instances?: Pick<Instances, 'of' | 'pick'>
}

const listTimeoutMs = 5000

/** Makes the client. Connections are opened on first need. */
export function createRunnerClient(parts: RunnerClientParts): RunnerClient {
  const lines = new Map(parts.runners.map((settings) => [settings.name, openLine(settings)]))
  const budget = createRetryBudget(parts.retry.retryBudgetRatio)
  return {
    async call(call, options) {
      budget.earn()
      let last: GatewayError | undefined
      let attempts = 0
      for (const target of attemptOrder(call, parts, options)) {
        if (attempts >= parts.retry.maxAttempts || (attempts > 0 && !budget.spend())) break
        const instance = parts.instances?.pick(target.runner) ?? parts.instances?.of(target.runner)[0]
        const line = instance?.line ?? lines.get(target.runner)
        const tokens = Math.ceil(call.body.length / 4)
        if (!line || !parts.board.enter(target.runner, tokens)) {
          last ??= ejected(target, parts.board)
          continue
        }
        attempts++
        const ended = instance?.begin()
        const leave = once((outcome: Outcome) => {
          ended?.()
          parts.board.leave(target.runner, tokens, outcome)
        })
        try {
          const reply = await attemptOnce(line, target, { call, options, names: parts.names, instance })
          if (reply.here) {
            leave('healthy')
            return reply
          }
          // A stream that nobody begins to read never ends by itself.
          call.signal.addEventListener('abort', () => leave('unknown'))
          return reply.observe({ end: (ending) => leave(outcomeOf(ending)) })
        } catch (reason) {
          last = gatewayErrorFrom(reason, 'runner_error')
          leave(isRunnersFault(last) ? 'failed' : 'unknown')
          if (!errorKinds[last.code].retryable || call.signal.aborted) throw last
        }
      }
      throw last ?? gatewayError('runner_unreachable', 'no runner is configured for this call', { retryAfterMs: 1000 })
    },
    ask: (question) => askOnce(lineNamed(lines, question.runner), question),
    async getAll(path, caller) {
      // One runner that hangs must not keep the others' answers back.
      const signal = AbortSignal.any([caller, AbortSignal.timeout(listTimeoutMs)])
      const asked = [...lines.values()].map(async (line) => {
        const exchange = await send(line.pool, {
          method: 'GET',
          path: line.base + path,
          headers: [...line.headers],
          signal,
        })
        const body = await wholeBody(exchange.body)
        return exchange.status === 200 ? [{ runner: line.settings.name, body }] : []
      })
      return (await Promise.allSettled(asked)).flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
    },
    tokenize: (call, signal) => tokenizeOnce([...lines.values()], call, signal),
    async close() {
      await Promise.all([...lines.values()].map((line) => line.pool.destroy()))
    },
  }
}

/** Targets in the order they are tried. Without routing: every runner, the model as the caller named it. */
function attemptOrder(call: Call, { runners, board }: RunnerClientParts, { folding }: CallOptions): readonly Target[] {
  if (call.facts.target) return call.facts.target
  if (folding?.home !== undefined) return [{ runner: folding.home, model: '' }]
  return byLoad(runners, board).map(({ name }) => ({ runner: name, model: '' }))
}

function byLoad(runners: readonly RunnerSettings[], board: Board): readonly RunnerSettings[] {
  if (runners.length === 1) return runners
  const load = new Map(runners.map(({ name }) => [name, board.state(name).outstandingTokens]))
  return runners.toSorted((a, b) => (load.get(a.name) ?? 0) - (load.get(b.name) ?? 0))
}

function ejected({ runner }: Target, board: Board): GatewayError {
  const wait = Math.max(1000, board.state(runner).retryAfterMs)
  return gatewayError('runner_unreachable', 'the runner is out of rotation after failures', { retryAfterMs: wait })
}

function once(action: (outcome: Outcome) => void): (outcome: Outcome) => void {
  let done = false
  return (outcome) => {
    if (done) return
    done = true
    action(outcome)
  }
}

function outcomeOf(ending: Ending): Outcome {
  if (ending.kind === 'complete') return 'healthy'
  return ending.kind === 'failed' && isRunnersFault(gatewayErrorFrom(ending.error, 'runner_error'))
    ? 'failed'
    : 'unknown'
}

const runnersFaults = new Set([
  'runner_error',
  'runner_protocol',
  'runner_credential',
  'runner_unreachable',
  'runner_timeout',
])

function isRunnersFault(error: GatewayError): boolean {
  return runnersFaults.has(error.code)
}

function lineNamed(lines: ReadonlyMap<string, Line>, name: string): Line {
  const line = lines.get(name)
  if (!line) throw gatewayError('runner_unreachable', `no runner is called "${name}"`)
  return line
}
