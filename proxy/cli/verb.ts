/** How a command ended: 0 ok, 1 error, 2 wrong usage, 3 degraded or rolled back, 4 inconclusive. */
export type ExitCode = number

/** Where a command's words and results go, and what it may know of its surroundings. */
export interface Io {
  /** Results, on stdout. */
  out(text: string): void
  /** Words for people, on stderr. */
  say(text: string): void
  readonly env: NodeJS.ProcessEnv
  /** Whether results may be coloured: stdout is a terminal and `NO_COLOR` is not set. */
  readonly color: boolean
  /** Whether stdout is a terminal that can be painted over. */
  readonly terminal: boolean
  /** Aborts on SIGINT and SIGTERM. */
  readonly signal: AbortSignal
}

/** One option of a verb, as `util.parseArgs` takes it, with a line of help. */
export interface Option {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  readonly multiple?: boolean
  readonly help: string
}

/** What a verb was called with. */
export interface Invocation {
  readonly values: Readonly<Record<string, string | boolean | readonly (string | boolean)[] | undefined>>
  readonly positionals: readonly string[]
  /** Everything after the verb, unparsed. */
  readonly args: readonly string[]
  readonly io: Io
}

/** One verb of the command line. */
export interface Verb {
  readonly name: string
  readonly summary: string
  /** What comes after the name, such as `FILE [-o FORMAT]`. */
  readonly usage: string
  readonly example: string
  readonly options?: Readonly<Record<string, Option>>
  /** Fewest and most positional arguments; absent: none. */
  readonly takes?: readonly [fewest: number, most: number]
  /** True: arguments are passed on as they are. */
  readonly raw?: boolean
  run(invocation: Invocation): ExitCode | Promise<ExitCode>
}

/** An option's text, or undefined. */
export function textOption(invocation: Invocation, name: string): string | undefined {
  const value = invocation.values[name]
  return typeof value === 'string' ? value : undefined
}
