import { type ChildProcess, fork } from 'node:child_process'
import { extname } from 'node:path'
import { isRefusal, type Refusal, refusal, refusalFrom } from '../refusal.ts'
import { createWork, type Work } from './engine-work.ts'
import { createWorks, type Works } from './engine-works.ts'
import type { FromEngine, LoadOptions, ModelFacts, Result, ToEngine } from './llama-messages.ts'

/** What can be asked of the engine process: a message before it has its id. */
export type Request = ToEngine extends infer M
  ? M extends { kind: 'credit' | 'cancel' }
    ? never
    : Omit<M, 'id'>
  : never

/** The process that holds the model, and whatever is asked of it. It is started again when it dies or hangs. */
export interface EngineProcess {
  state(): 'starting' | 'ready' | 'down'
  /** What the model is like; undefined while the process is not up. */
  facts(): ModelFacts | undefined
  /** Process id of the engine; undefined while there is none. */
  pid(): number | undefined
  /** Loads the model. Throws `native_unavailable` or `model_unavailable`. */
  start(options: LoadOptions): Promise<ModelFacts>
  /** Starts work. Throws `engine_unavailable` while the process is not up. */
  open(request: Request, signal: AbortSignal): Work
  /** Starts work that gives a result and no pieces, and waits for it. */
  ask(request: Request, signal: AbortSignal): Promise<Result>
  close(): Promise<void>
}

/** How long the process may be silent, in milliseconds, and what hears of its troubles. */
export interface ProcessOptions {
  /** While tokens are owed; default 30000. */
  readonly tokenTimeoutMs?: number
  /** While the model loads; default 600000. */
  readonly loadTimeoutMs?: number
  /** First pause before a new start, doubled by every crash soon after it, up to 30000; default 200. */
  readonly restartDelayMs?: number
  readonly log?: (line: string) => void
  /** The program of the process; default the one that runs llama.cpp. */
  readonly entry?: URL
}

const llamaEntry = new URL(`./llama-process${extname(import.meta.filename)}`, import.meta.url)

function reasonOf(signal: AbortSignal): Refusal {
  return isRefusal(signal.reason)
    ? signal.reason
    : refusal('client_closed', 'the call was given up', { cause: signal.reason })
}

async function resultOf(work: Work): Promise<Result> {
  const found = await work.next()
  if (found.kind !== 'result') throw refusal('engine_failed', 'the engine sent a piece where a result was due')
  return found.result
}

/** What hears of a life. */
interface LifeListener {
  readonly works: Works
  readonly log: (line: string) => void
  readonly onExit: (why: string) => void
}

/** One life of the process: what it was sent and owes dies with it. */
interface Life {
  readonly child: ChildProcess
  open(request: Request, signal: AbortSignal, timeoutMs: number): Work
}

let lastId = 0

function startLife(entry: URL, { works, log, onExit }: LifeListener): Life {
  const child = fork(entry, [], { execArgv: [], stdio: ['ignore', 2, 2, 'ipc'] })
  child.on('message', (message) => works.receive(message as FromEngine))
  child.on('error', (error) => log(`the engine process: ${error.message}`))
  child.once('exit', (code, name) => onExit(name ?? `exit ${code}`))
  const send = (message: ToEngine): void => {
    // A process that just died is noticed by its exit, not here.
    if (child.connected) child.send(message, () => undefined)
  }
  return {
    child,
    open(request, signal, timeoutMs) {
      signal.throwIfAborted()
      const work = createWork({ id: ++lastId, timeoutMs, credited: request.kind === 'run', send })
      const cancel = (): void => work.cancel(reasonOf(signal))
      signal.addEventListener('abort', cancel, { once: true })
      work.ended.then(() => signal.removeEventListener('abort', cancel))
      works.add(work)
      send({ ...request, id: work.id })
      return work
    },
  }
}

/** Pauses between starts: short after a long life, longer with each short one. */
function createBackoff(firstMs: number) {
  let delay = firstMs
  let startedAt = performance.now()
  return {
    started: () => {
      startedAt = performance.now()
    },
    next(): number {
      if (performance.now() - startedAt > 60_000) delay = firstMs
      const now = delay
      delay = Math.min(delay * 2, 30_000)
      return now
    },
  }
}

/** An engine process, not started yet. */
export function createEngineProcess(options: ProcessOptions = {}): EngineProcess {
  const { tokenTimeoutMs = 30_000, loadTimeoutMs = 600_000, log = () => undefined } = options
  const backoff = createBackoff(options.restartDelayMs ?? 200)
  const now: { life?: Life; facts?: ModelFacts; restart?: NodeJS.Timeout; known: boolean; closed: boolean } = {
    known: false,
    closed: false,
  }
  const works = createWorks(() => {
    log('the engine process gives no sign of life and is killed')
    now.life?.child.kill('SIGKILL')
  })
  const load = async (what: LoadOptions): Promise<ModelFacts> => {
    backoff.started()
    const life = startLife(options.entry ?? llamaEntry, { works, log, onExit: (why) => exited(why, what) })
    now.life = life
    const work = life.open({ kind: 'load', options: what }, new AbortController().signal, loadTimeoutMs)
    now.facts = (await resultOf(work)) as ModelFacts
    now.known = true
    return now.facts
  }
  const exited = (why: string, what: LoadOptions): void => {
    delete now.life
    delete now.facts
    works.failAll(refusal('engine_failed', `the engine process ended (${why})`))
    if (now.closed || !now.known) return
    const pause = backoff.next()
    log(`the engine process ended (${why}) and starts again in ${pause} ms`)
    now.restart = setTimeout(() => load(what).then(() => log('the engine process is up again'), failed), pause)
  }
  const failed = (error: unknown): void => {
    log(`the engine process did not come up: ${refusalFrom(error).message}`)
    now.life?.child.kill('SIGKILL')
  }
  const open = (request: Request, signal: AbortSignal, timeoutMs: number): Work => {
    if (now.life && now.facts) return now.life.open(request, signal, timeoutMs)
    throw refusal('engine_unavailable', 'the engine is being restarted', { retryAfterSeconds: 2 })
  }
  return {
    state: () => (now.facts ? 'ready' : now.known ? 'down' : 'starting'),
    facts: () => now.facts,
    pid: () => now.life?.child.pid,
    start: load,
    open: (request, signal) => open(request, signal, tokenTimeoutMs),
    ask: async (request, signal) => resultOf(open(request, signal, 4 * tokenTimeoutMs)),
    async close() {
      now.closed = true
      clearTimeout(now.restart)
      works.stop()
      const child = now.life?.child
      if (!child) return
      const gone = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGKILL')
      await gone
    },
  }
}
