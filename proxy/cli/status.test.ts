import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { parse } from 'yaml'
import { startProcess } from '../../test/support/processes.ts'
import { createTempDir } from '../../test/support/temp-dir.ts'
import { entry, foldgate, nobody, startFakeGateway } from './test-command.ts'

test('status shows each replica and ends with 3 when one is degraded, with 1 when one is away', async () => {
  const first = await startFakeGateway()
  const second = await startFakeGateway()
  const both = ['--admin', first.url, '--admin', second.url]
  const well = await foldgate(['status', ...both])
  expect(well).toMatchObject({ code: 0, err: '' })
  expect(well.out).toContain(`gateway  ${first.url} ok`)
  expect(well.out).toContain(`gateway  ${second.url} ok`)
  expect(well.out).toMatch(/^auth +gateway +gateway +active$/m)
  second.gateway.problems = ['gpu-a is ejected']
  const degraded = await foldgate(['status', ...both])
  expect(degraded.code).toBe(3)
  expect(degraded.out).toContain('problem  gpu-a is ejected')
  const away = await foldgate(['status', '--admin', first.url, '--admin', nobody, '-o', 'json'])
  expect(away.code).toBe(1)
  expect(JSON.parse(away.out)).toMatchObject([{ admin: first.url, state: 'ok', inFlight: 2 }])
})

test('status -w goes on until it is interrupted', async () => {
  const { url } = await startFakeGateway()
  await using child = await startProcess({
    args: [entry, 'status', '-w', '--interval', '0.05', '-o', 'name', '--admin', url],
    ready: / ok\n(.*\n)*.* ok\n/,
  })
  child.signal('SIGINT')
  expect(await child.exit).toEqual({ code: 0, signal: null })
})

test('layers come as table, wide, JSON, YAML and names', async () => {
  const { url } = await startFakeGateway()
  const as = async (format: string) => (await foldgate(['layers', '--admin', url, '-o', format])).out
  const [table, wide, json, yaml, name] = await Promise.all(['table', 'wide', 'json', 'yaml', 'name'].map(as))
  expect(table).toBe(
    'LAYER  STAGE    WHERE    STATUS\nauth   gateway  gateway  active\ncache  off      none     evaporation-bypassed\n',
  )
  expect(wide).toMatch(/RUNNERS +POLICY +ROUTES\nauth .* – +– +chat, models\n/)
  expect(JSON.parse(json ?? '')).toMatchObject([{ admin: url, name: 'auth', on: true }, { name: 'cache' }])
  expect(parse(yaml ?? '')).toEqual(JSON.parse(json ?? ''))
  expect(name).toBe('auth\ncache\n')
})

test('explain tells a layer by its name and a call by its id', async () => {
  const { url } = await startFakeGateway()
  const ask = (what: string) => foldgate(['explain', what, '--admin', `${url}/`])
  const [layer, call, unknown] = await Promise.all([ask('auth'), ask('req-1'), ask('nothing&id=req-1')])
  expect(layer.out).toMatch(/^layer +auth\nstage +gateway\n/)
  expect(layer.out).toContain('  anonymous: true')
  expect(call.out).toMatch(/^request +req-1\n/)
  expect(call.out).toMatch(/^auth +pass +0\.10 ms/m)
  expect(call.out).toMatch(/^gpu-a +m +1\.00 ms +11 ms +200$/m)
  expect(unknown).toMatchObject({ code: 1, out: '' })
  expect(unknown.err).toContain('neither a layer nor a call')
})

test('a token file opens an admin port that is not on loopback, and its absence is explained', async () => {
  await using dir = createTempDir()
  const token = { name: 'oncall', role: 'operator' as const, digest: createHash('sha256').update('tok').digest() }
  const { url, gateway } = await startFakeGateway({
    rules: () => ({ tokens: [token], allowedHosts: [] }),
    host: '0.0.0.0',
  })
  writeFileSync(dir.file('token'), 'tok\n')
  const without = await foldgate(['layers', '--admin', url])
  expect(without).toMatchObject({ code: 1, out: '' })
  expect(without.err).toContain('pass one with --token-file')
  const args = ['drain', '--reason', 'node goes', '--admin', url, '--token-file', dir.file('token')]
  expect(await foldgate(args)).toMatchObject({ code: 0, out: `${url} draining\n` })
  expect(gateway.told).toEqual(['drain oncall true node goes'])
})

test('drain --wait comes back when nothing is in flight any more', async () => {
  const { url, gateway } = await startFakeGateway()
  const drained = vi.spyOn(gateway.operations, 'drained')
  const ended = foldgate(['drain', '--wait', '--admin', url])
  await vi.waitFor(() => expect(drained).toHaveBeenCalledTimes(1), { timeout: 10_000 })
  expect(gateway.told[0]).toMatch(/^drain \S+ false -$/)
  gateway.end()
  expect(await ended).toMatchObject({ code: 0, out: `${url} drained\n` })
})

test('drain --wait ends with 1 when calls outlive the deadline', async () => {
  const { url, gateway } = await startFakeGateway()
  gateway.end(false)
  expect(await foldgate(['drain', '--wait', '--admin', url])).toMatchObject({
    code: 1,
    out: `${url} not drained: 2 still in flight\n`,
  })
})

test('results of another machine cannot steer a terminal', async () => {
  const { url, gateway } = await startFakeGateway()
  gateway.problems = ['\u001b[2Jwiped']
  const { out } = await foldgate(['status', '--admin', url])
  expect(out).toContain('?[2Jwiped')
  expect(out).not.toContain('\u001b')
})
