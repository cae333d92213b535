import { execFile, execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { freePortWithBus } from './ports.ts'
import { type RunningProcess, startProcess } from './processes.ts'
import { createTempDir, type TempDir } from './temp-dir.ts'

/** True when `redis-server` is on the PATH; for `describe.skipIf(!redisAvailable)`. */
export const redisAvailable = isOnPath('redis-server') && isOnPath('redis-cli')

/** A real Redis server of the test's own, on 127.0.0.1, without persistence. */
export interface Redis extends AsyncDisposable {
  readonly port: number
  /** `redis://127.0.0.1:<port>` */
  readonly url: string
  readonly pid: number
  /** Runs a command through `redis-cli`; its output without the last line end. */
  cli(...args: string[]): Promise<string>
  /** Stops the process in its tracks (SIGSTOP): connections stay up and nothing answers. */
  pause(): void
  /** Lets it go on (SIGCONT). */
  resume(): void
  /** Kills it (SIGKILL): connections are reset and its memory is gone. */
  kill(): Promise<void>
  /** Starts it again on the same port, empty, after `kill`. */
  restart(): Promise<void>
}

/** How a Redis server starts beside the defaults. */
export interface RedisOptions {
  /** Default: a free one. */
  readonly port?: number
  /** Further command line arguments. */
  readonly args?: readonly string[]
  /** Text of a configuration file, which Sentinel needs; it goes before all other arguments. */
  readonly config?: string
  /** The output that means it is up; default `Ready to accept connections`. */
  readonly ready?: RegExp
}

/** Starts a Redis server; null when there is no `redis-server` to start. */
export async function startRedis(options: RedisOptions = {}): Promise<Redis | null> {
  return redisAvailable ? startServer(options) : null
}

/** As `startRedis`, where it is known that there is one; throws when it does not come up. */
export async function startServer(options: RedisOptions = {}): Promise<Redis> {
  const dir = createTempDir()
  try {
    return await launch(options, dir)
  } catch (fault) {
    await dir[Symbol.asyncDispose]()
    throw fault
  }
}

/** Runs `redis-cli` against a port. */
export async function redisCli(port: number, ...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('redis-cli', ['-h', '127.0.0.1', '-p', String(port), ...args])
  return stdout.replace(/\n$/, '')
}

async function launch(options: RedisOptions, dir: TempDir): Promise<Redis> {
  const { port, child } = await startAnywhere(options, dir)
  let running: RunningProcess = child
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    get pid() {
      return running.pid
    },
    cli: (...args) => redisCli(port, ...args),
    pause: () => running.signal('SIGSTOP'),
    resume: () => running.signal('SIGCONT'),
    kill: () => running.kill(),
    restart: async () => {
      running = await startOn(port, options, dir)
    },
    [Symbol.asyncDispose]: async () => {
      await running.kill()
      await dir[Symbol.asyncDispose]()
    },
  }
}

/** A port found free can be taken a moment later by another test, so three are tried. */
async function startAnywhere(options: RedisOptions, dir: TempDir): Promise<{ port: number; child: RunningProcess }> {
  for (let attempt = 1; ; attempt++) {
    const port = options.port ?? (await freePortWithBus())
    try {
      return { port, child: await startOn(port, options, dir) }
    } catch (fault) {
      if (options.port !== undefined || attempt === 3) throw fault
    }
  }
}

async function startOn(port: number, options: RedisOptions, dir: TempDir): Promise<RunningProcess> {
  const configFile = dir.file('redis.conf')
  await writeFile(configFile, options.config ?? '')
  const own = ['--port', String(port), '--bind', '127.0.0.1', '--dir', dir.path]
  const plain = options.config === undefined ? ['--save', '', '--appendonly', 'no'] : []
  return startProcess({
    command: 'redis-server',
    args: [configFile, ...own, ...plain, ...(options.args ?? [])],
    ready: options.ready ?? /Ready to accept connections/,
  })
}

function isOnPath(command: string): boolean {
  try {
    execFileSync(command, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
