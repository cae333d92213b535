import { type ChildProcess, spawn } from 'node:child_process'
import { within } from './gate.ts'

/** What to start and how to know that it is up. */
export interface ProcessOptions {
  /** Default: this Node. */
  readonly command?: string
  readonly args: readonly string[]
  /** Added to this process's environment; undefined takes a variable away. */
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly cwd?: string
  /** Matched against stdout and stderr together; default: ready at once. */
  readonly ready?: RegExp
  /** Default 15 seconds. */
  readonly readyWithinMs?: number
  /** How long disposing waits between SIGTERM and SIGKILL, in milliseconds; default 3000. */
  readonly politeMs?: number
}

/** How a process ended. */
export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** A child process; disposing it asks it to stop (SIGTERM), and after `politeMs` makes it (SIGKILL). */
export interface RunningProcess extends AsyncDisposable {
  readonly pid: number
  /** What `ready` matched, with its groups. */
  readonly readyMatch: RegExpMatchArray
  readonly stdout: string
  readonly stderr: string
  /** Resolves when it has ended and its output is complete. */
  readonly exit: Promise<Exit>
  /** Resolves when its output, so far or to come, matches. */
  shows(pattern: RegExp, waitMs?: number): Promise<RegExpMatchArray>
  signal(signal: NodeJS.Signals): void
  /** Sends SIGKILL and waits for the end. */
  kill(): Promise<void>
}

const POLITE_MS = 3_000
const alive = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of alive) child.kill('SIGKILL')
})

/** Starts a process; throws, with its output, when it ends or the time is over before it is ready. */
export async function startProcess(options: ProcessOptions): Promise<RunningProcess> {
  const child = spawn(options.command ?? process.execPath, [...options.args], {
    env: { ...process.env, ...options.env },
    cwd: options.cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = collect(child)
  const exit = exitOf(child)
  try {
    const spawned = new Promise<void>((done, fail) => child.once('spawn', done).once('error', fail))
    await spawned
    const readyMatch = await ready(output, exit, options)
    return running(child, { output, exit, readyMatch, politeMs: options.politeMs ?? POLITE_MS })
  } catch (fault) {
    child.kill('SIGKILL')
    throw fault
  }
}

interface Output {
  stdout: string
  stderr: string
  readonly watching: Set<() => void>
}

function collect(child: ChildProcess): Output {
  const output: Output = { stdout: '', stderr: '', watching: new Set() }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]!.setEncoding('utf8').on('data', (text: string) => {
      output[name] += text
      for (const look of [...output.watching]) look()
    })
  }
  return output
}

function exitOf(child: ChildProcess): Promise<Exit> {
  alive.add(child)
  return new Promise((done) => {
    child.once('error', () => done({ code: null, signal: null }))
    child.once('close', (code, signal) => {
      alive.delete(child)
      done({ code, signal })
    })
  })
}

async function ready(output: Output, exit: Promise<Exit>, options: ProcessOptions): Promise<RegExpMatchArray> {
  const ended = exit.then(({ code, signal }) => {
    throw new Error(`${options.args.join(' ')} ended (${code ?? signal}) before it was ready:\n${both(output)}`)
  })
  ended.catch(() => {})
  return Promise.race([shows(output, options.ready ?? /^/, options.readyWithinMs ?? 15_000), ended])
}

function shows(output: Output, pattern: RegExp, waitMs?: number): Promise<RegExpMatchArray> {
  const { promise, resolve } = Promise.withResolvers<RegExpMatchArray>()
  const look = () => {
    const match = both(output).match(pattern)
    if (match) resolve(match)
  }
  output.watching.add(look)
  look()
  return within(promise, () => `the output shows ${pattern}:\n${both(output)}`, waitMs).finally(() =>
    output.watching.delete(look),
  )
}

const both = (output: Output) => `${output.stdout}\n${output.stderr}`

interface Started {
  readonly output: Output
  readonly exit: Promise<Exit>
  readonly readyMatch: RegExpMatchArray
  readonly politeMs: number
}

function running(child: ChildProcess, { output, exit, readyMatch, politeMs }: Started): RunningProcess {
  const kill = async () => {
    child.kill('SIGKILL')
    await exit
  }
  return {
    pid: child.pid!,
    readyMatch,
    exit,
    kill,
    get stdout() {
      return output.stdout
    },
    get stderr() {
      return output.stderr
    },
    shows: (pattern, waitMs) => shows(output, pattern, waitMs),
    signal: (signal) => void child.kill(signal),
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGTERM')
      await within(exit, () => 'it ends', politeMs).catch(kill)
    },
  }
}
