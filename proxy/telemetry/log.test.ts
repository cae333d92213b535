import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync, readFileSync } from 'node:fs'
import { describe, expect, it, vi } from 'vitest'
import { failOnLeaks } from '../../test/support/leaks.ts'
import { startProcess } from '../../test/support/processes.ts'
import { createTempDir } from '../../test/support/temp-dir.ts'
import { type AccessLine, createLog, type LogLevel } from './log.ts'

failOnLeaks()

function collect(level: LogLevel = 'info') {
  const lines: Record<string, unknown>[] = []
  const log = createLog({ level, destination: { write: (line) => void lines.push(JSON.parse(line)) } })
  return { log, lines }
}

const line: AccessLine = {
  id: 'c1',
  method: 'POST',
  route: '/v1/chat/completions',
  status: 200,
  source: 'runner',
  ms: 12.345678,
  runner: 'gpu-a',
  inputTokens: 700,
  outputTokens: 128,
  layers: { auth: 'active;by=gateway', prompt: 'evaporation-bypassed;by=none' },
}
const span = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) }

describe('the log', () => {
  it('writes one JSON object a line, with its level as a word and its time in ISO 8601', () => {
    const { log, lines } = collect()
    log.warn({ runner: 'gpu-a', attempts: 3 }, 'runner ejected')
    expect(lines).toEqual([
      {
        level: 'warn',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        runner: 'gpu-a',
        attempts: 3,
        msg: 'runner ejected',
      },
    ])
  })

  it('writes nothing below its level, which can be changed for everything made from it', () => {
    const { log, lines } = collect('warn')
    const child = log.child({ layer: 'cache' })
    log.info({}, 'a')
    child.info({}, 'b')
    log.setLevel('debug')
    log.debug({}, 'c')
    child.debug({}, 'd')
    log.setLevel('silent')
    child.error({}, 'e')
    expect(lines.map(({ msg }) => msg)).toEqual(['c', 'd'])
    expect(log.level).toBe('silent')
  })

  it('a child carries its fields, and one within a span its ids', () => {
    const { log, lines } = collect()
    log.child({ layer: 'auth' }).within(span).error({ code: 'internal' }, 'failed')
    expect(lines[0]).toMatchObject({ layer: 'auth', trace_id: span.traceId, span_id: span.spanId, code: 'internal' })
  })

  it('says a call in one line', () => {
    const { log, lines } = collect()
    log.access(line, span)
    const { time, ...rest } = lines[0]!
    expect(rest).toEqual({
      level: 'info',
      trace_id: span.traceId,
      span_id: span.spanId,
      id: 'c1',
      method: 'POST',
      route: '/v1/chat/completions',
      status: 200,
      source: 'runner',
      ms: 12.346,
      input_tokens: 700,
      output_tokens: 128,
      runner: 'gpu-a',
      layers: line.layers,
      msg: 'call',
    })
  })

  it('a line that cannot be JSON as it is does not throw', () => {
    const { log, lines } = collect()
    const circle: Record<string, unknown> = { big: 2n ** 70n, symbol: Symbol('s'), call: () => 1, nan: Number.NaN }
    circle['self'] = circle
    log.info(circle, 'odd')
    expect(lines[0]).toMatchObject({ big: String(2n ** 70n), msg: 'odd' })
  })
})

describe('a log that is written to a file descriptor', () => {
  it('has everything in it when flush resolves', async () => {
    await using dir = createTempDir()
    const fd = openSync(dir.file('log'), 'w')
    const log = createLog({ destination: fd })
    for (let n = 0; n < 500; n++) log.info({ n }, 'line')
    await log.flush()
    expect(readFileSync(dir.file('log'), 'utf8').trimEnd().split('\n')).toHaveLength(500)
    closeSync(fd)
  })

  it('has everything in it when the process exits at once', async () => {
    const script = `import { createLog } from ${JSON.stringify(import.meta.resolve('./log.ts'))}
      const log = createLog()
      for (let n = 0; n < 2000; n++) log.info({ n }, 'line')
      process.exit(0)`
    await using child = await startProcess({ args: ['--input-type=module', '-e', script] })
    expect(await child.exit).toMatchObject({ code: 0 })
    const lines = child.stdout.trimEnd().split('\n')
    expect(lines).toHaveLength(2000)
    expect(lines.map((each) => JSON.parse(each).n)).toEqual(Array.from({ length: 2000 }, (_, n) => n))
  })

  it('drops lines, and tells so, instead of keeping more than a few megabytes for a reader that does not read', async () => {
    await using dir = createTempDir()
    execFileSync('mkfifo', [dir.file('pipe')])
    const reader = openSync(dir.file('pipe'), constants.O_RDONLY | constants.O_NONBLOCK)
    const writer = openSync(dir.file('pipe'), constants.O_WRONLY | constants.O_NONBLOCK)
    const onDropped = vi.fn()
    const log = createLog({ destination: writer, onDropped })
    for (let n = 0; n < 4000; n++) log.info({ n, filler: 'x'.repeat(2000) }, 'line')
    expect(onDropped.mock.calls.length).toBeGreaterThan(1000)
    expect(onDropped.mock.calls.length).toBeLessThan(3000)
    closeSync(reader)
    // The reader is gone: the stream gives up for good, and flush does not wait for ever.
    await log.flush()
    log.info({}, 'nobody hears this')
    closeSync(writer)
  })
})
