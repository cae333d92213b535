import { expect, test, vi } from 'vitest'
import { gatewayError } from '../plugins/errors.ts'
import { createLiveConfig, type ReloadOutcome } from './live.ts'
import type { LoadedConfig } from './load.ts'
import { type ConfigDir, createConfigDir, leastConfig } from './test-config.ts'

function live(dir: ConfigDir, apply: (next: LoadedConfig) => void | Promise<void> = () => {}) {
  const heard: ReloadOutcome[] = []
  const made = createLiveConfig(dir.load(), {
    load: () => dir.load(),
    apply,
    heard: (outcome) => void heard.push(outcome),
    now: () => 1_700_000_000_000,
  })
  return { made, heard }
}

test('a file that is right takes the place of the one before', async () => {
  await using dir = createConfigDir(leastConfig)
  const { made, heard } = live(dir)
  const { digest } = made.current
  dir.write('gateway.yaml', `${leastConfig}listen: { port: 1234 }\n`)
  const outcome = await made.reload('SIGHUP')
  expect(outcome).toMatchObject({ ok: true, changed: true, by: 'SIGHUP', at: 1_700_000_000_000, faults: [] })
  expect(made.current.config.listen.port).toBe(1234)
  expect(outcome.digest).not.toBe(digest)
  expect(heard).toEqual([outcome])
})

test.each([
  ['truncated', 'runners: [ { name: gp'],
  ['empty', ''],
  ['wrong', `${leastConfig}listen: { port: x }\n`],
])('a %s file changes nothing: the configuration, its digest and its view stay', async (_title, text) => {
  await using dir = createConfigDir(leastConfig)
  const apply = vi.fn()
  const { made } = live(dir, apply)
  const before = made.current
  dir.write('gateway.yaml', text)
  const outcome = await made.reload('file')
  expect(outcome).toMatchObject({ ok: false, changed: false, by: 'file', digest: before.digest })
  expect(outcome.faults.length).toBeGreaterThan(0)
  expect(made.current).toBe(before)
  expect(made.lastReload).toBe(outcome)
  expect(apply).not.toHaveBeenCalled()
})

test('a configuration that cannot be applied does not come into use', async () => {
  await using dir = createConfigDir(leastConfig)
  const { made } = live(dir, () => {
    throw gatewayError('config_invalid', 'a pattern does not compile', { field: 'layers.postprocess' })
  })
  const before = made.current
  dir.write('gateway.yaml', `${leastConfig}listen: { port: 1234 }\n`)
  expect(await made.reload('file')).toMatchObject({
    ok: false,
    faults: [{ path: 'layers.postprocess', message: 'a pattern does not compile' }],
  })
  expect(made.current).toBe(before)
})

test('two reloads at once are done one after the other, and the later file wins', async () => {
  await using dir = createConfigDir(leastConfig)
  let running = 0
  const { made, heard } = live(dir, async () => {
    expect(++running).toBe(1)
    await new Promise((next) => setImmediate(next))
    running--
  })
  dir.write('gateway.yaml', `${leastConfig}listen: { port: 1 }\n`)
  const first = made.reload('a')
  const second = made.reload('b')
  await first
  dir.write('gateway.yaml', `${leastConfig}listen: { port: 2 }\n`)
  await second
  await made.reload('c')
  expect(made.current.config.listen.port).toBe(2)
  expect(heard.map((outcome) => outcome.by)).toEqual(['a', 'b', 'c'])
})

test('a changed secret counts as a change although the digest does not tell it', async () => {
  await using dir = withSecret()
  const { made } = live(dir)
  expect(await made.reload('file')).toMatchObject({ ok: true, changed: false })
  dir.write('key', 'two')
  const outcome = await made.reload('file')
  expect(outcome).toMatchObject({ ok: true, changed: true })
  expect(made.current.config.runners[0]?.headers).toEqual({ a: 'two' })
})

function withSecret(): ConfigDir {
  const dir = createConfigDir(
    'runners: [ { name: gpu-a, kind: openai, url: "http://127.0.0.1:1", headers: { a: "${file:key}" } } ]\n',
  )
  dir.write('key', 'one')
  return dir
}
