import { spawn } from 'node:child_process'

/** How a command runs. */
export interface CommandOptions {
  readonly cwd?: string
  readonly env?: NodeJS.ProcessEnv
  /** Whether what it prints is shown on our standard error as it comes, such as a progress bar; default false. */
  readonly show?: boolean
  /** Told every ten seconds that it still runs. */
  readonly onWait?: (seconds: number) => void
}

/** How a command ended: its code (undefined when it could not be started) and the end of what it said. */
export interface CommandEnd {
  readonly code: number | undefined
  readonly tail: string
}

/** Runs a program to its end, keeping the last 2000 characters of its output. Never throws. */
export function runCommand(
  command: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandEnd> {
  return new Promise((resolve) => {
    const startedAt = performance.now()
    let tail = ''
    // On Windows npm is a script that only a shell can start; its arguments are ours, never a caller's.
    const shell = process.platform === 'win32' && !/\.exe$/i.test(command)
    const { cwd, env = process.env } = options
    const child = spawn(command, args, {
      ...(cwd === undefined ? {} : { cwd }),
      env,
      shell,
      stdio: ['ignore', options.show ? 2 : 'pipe', 'pipe'],
    })
    const timer = setInterval(() => options.onWait?.(Math.round((performance.now() - startedAt) / 1000)), 10_000)
    const hear = (text: Buffer): void => {
      tail = (tail + text.toString()).slice(-2000)
    }
    const end = (code: number | undefined): void => {
      clearInterval(timer)
      resolve({ code, tail: tail.trim() })
    }
    child.stdout?.on('data', hear)
    child.stderr?.on('data', hear)
    child.once('error', () => end(undefined))
    child.once('close', (code) => end(code ?? -1))
  })
}
