import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runnerFromArguments, usage } from './flags.ts'

it('without flags a small model is served on the loopback address', () => {
  expect(runnerFromArguments([])).toEqual({ engine: 'llama', server: { port: 8000 } })
})

it('flags choose the engine and how it listens', () => {
  expect(runnerFromArguments(['--upstream', 'http://h:1', '--model', 'm', '--port', '0', '--host', '::1'])).toEqual({
    engine: 'openai',
    upstream: 'http://h:1',
    model: 'm',
    server: { host: '::1', port: 0 },
  })
  expect(runnerFromArguments(['--engine=echo'])).toEqual({ engine: 'echo', server: { port: 8000 } })
  expect(runnerFromArguments(['--model', 'a.gguf', '--sequences', '8', '--context=2048', '--threads', '2'])).toEqual({
    engine: 'llama',
    model: 'a.gguf',
    sequences: 8,
    contextTokens: 2048,
    threads: 2,
    server: { port: 8000 },
  })
  expect(runnerFromArguments(['--help'])).toBe('help')
})

it.each([
  [['--nonsense'], /--nonsense/],
  [['extra'], /extra/],
  [['--port', '70000'], /--port must be a number up to 65535, not "70000"/],
  [['--port', 'http'], /--port/],
  [['--sequences', '0'], /--sequences/],
  [['--engine', 'magic'], /--engine must be llama, openai or echo/],
  [['--engine', 'openai'], /needs --upstream/],
  [['--engine', 'openai', '--upstream', 'nowhere'], /needs --upstream/],
  [['--engine', 'echo', '--upstream', 'http://h'], /--upstream needs --engine openai/],
  [['--api-key-file', '/does/not/exist'], /\/does\/not\/exist cannot be read/],
])('%j is refused', (args, message) => {
  expect(() => runnerFromArguments(args)).toThrow(message)
})

it('a key file is its bytes without the last line end, and has at least 32 of them', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'flags-'))
  const file = join(folder, 'key')
  await writeFile(file, `${'k'.repeat(32)}\n`)
  expect(runnerFromArguments(['--engine', 'echo', '--api-key-file', file])).toMatchObject({
    server: { apiKey: 'k'.repeat(32) },
  })
  await writeFile(file, `${'k'.repeat(31)}\n`)
  expect(() => runnerFromArguments(['--api-key-file', file])).toThrow(/shorter than 32 bytes/)
  await rm(folder, { recursive: true })
})

it('the help names every flag', () => {
  const listening = ['engine', 'model', 'upstream', 'host', 'port', 'api-key-file', 'sequences', 'context', 'threads']
  const executing = ['key', 'ack-key', 'secrets-dir', 'egress', 'store', 'policy-dir', 'allow-plain']
  for (const flag of [...listening, ...executing]) expect(usage).toMatch(new RegExp(`^  --${flag}\\b`, 'm'))
})
