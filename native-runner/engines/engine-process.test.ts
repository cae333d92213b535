import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createEngineProcess, type EngineProcess } from './engine-process.ts'
import { creditWindow, type Work } from './engine-work.ts'

const entry = new URL('./engine-fixture.ts', import.meta.url)
const model = { nativeFolder: '', modelPath: '', sequences: 1, contextTokens: 0, threads: 0 }
const never = new AbortController().signal
let engine: EngineProcess
let log: string[]

beforeEach(() => {
  log = []
  engine = createEngineProcess({ entry, tokenTimeoutMs: 700, restartDelayMs: 10, log: (line) => void log.push(line) })
})
afterEach(() => engine.close())

function open(scope: string, signal = never): Work {
  const sampling = { n: 1, bias: [], stop: [] }
  return engine.open({ kind: 'run', run: { index: 0, tokens: [1], maxTokens: 1, scope, sampling } }, signal)
}

const readyAgain = (old: number | undefined) =>
  vi.waitFor(() => {
    expect(engine.state()).toBe('ready')
    expect(engine.pid()).not.toBe(old)
  }, 10_000)

it('a run gives its pieces, then what it cost', async () => {
  await engine.start(model)
  const work = open('short')
  expect((await work.next()).kind).toBe('delta')
  expect((await work.next()).kind).toBe('finish')
  expect(await work.next()).toEqual({ kind: 'result', result: { prompt: 1, cached: 0, completion: 1 } })
  await work.ended
})

it('a process that dies fails the calls in it, and a new one serves the next', async () => {
  await engine.start(model)
  const old = engine.pid()
  const crashed = open('crash')
  const beside = open('endless')
  expect((await crashed.next()).kind).toBe('delta')
  await expect(crashed.next()).rejects.toMatchObject({ code: 'engine_failed' })
  for (let at = 0; at < creditWindow; at++) await beside.next().catch(() => undefined)
  await expect(beside.next()).rejects.toMatchObject({ code: 'engine_failed' })
  expect(engine.state()).toBe('down')
  expect(() => open('short')).toThrow(
    expect.objectContaining({ code: 'engine_unavailable', detail: { retryAfterSeconds: 2 } }),
  )
  await readyAgain(old)
  expect((await open('short').next()).kind).toBe('delta')
})

it('a process that owes a token for too long is killed and replaced', async () => {
  await engine.start(model)
  const old = engine.pid()
  const hung = open('hang')
  expect((await hung.next()).kind).toBe('delta')
  await expect(hung.next()).rejects.toThrow(/SIGKILL/)
  expect(log).toContain('the engine process gives no sign of life and is killed')
  await readyAgain(old)
})

it('a reader who takes nothing is owed nothing: the process waits and lives', async () => {
  await engine.start(model)
  const pid = engine.pid()
  const slow = open('endless')
  // A hung call in between shows that the clock did look in the meantime.
  const other = createEngineProcess({ entry, tokenTimeoutMs: 1500, restartDelayMs: 10 })
  await other.start(model)
  const sampling = { n: 1, bias: [], stop: [] }
  const hung = other.open({ kind: 'run', run: { index: 0, tokens: [1], maxTokens: 1, scope: 'hang', sampling } }, never)
  await hung.next()
  await expect(hung.next()).rejects.toThrow(/SIGKILL/)
  await other.close()
  expect(engine.pid()).toBe(pid)
  for (let at = 0; at < 3 * creditWindow; at++) expect((await slow.next()).kind).toBe('delta')
})

it('a call given up is told so at once, and ends when the process has let go', async () => {
  await engine.start(model)
  const leave = new AbortController()
  const work = open('endless', leave.signal)
  await work.next()
  leave.abort()
  await expect(work.next()).rejects.toMatchObject({ code: 'client_closed' })
  await work.ended
  expect(engine.state()).toBe('ready')
})

it('a first load that fails is a refusal, and nothing starts again by itself', async () => {
  await expect(engine.start({ ...model, modelPath: 'missing' })).rejects.toMatchObject({ code: 'model_unavailable' })
  expect(engine.state()).toBe('starting')
  await engine.close()
  expect(engine.pid()).toBeUndefined()
})
