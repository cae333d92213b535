import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createTempDir } from '../../test/support/temp-dir.ts'
import { foldgate, nobody, startFakeGateway, startFakeRunner } from './test-command.ts'

const config = (url: string, more = '') =>
  `runners: [ { name: gpu-a, kind: openai, url: "${url}"${more} } ]\nlayers: { routing: { targets: [ { runner: gpu-a, model: m1 } ] } }\n`

test('doctor finds everything in order', async () => {
  await using dir = createTempDir()
  const { url } = await startFakeGateway()
  writeFileSync(dir.file('a.yaml'), config(await startFakeRunner(['m1', 'm2'])))
  const { code, out } = await foldgate(['doctor', '--config', dir.file('a.yaml'), '--admin', url])
  expect(out).not.toMatch(/^[✗!]/m)
  expect(code).toBe(0)
  expect(out).toMatch(/^✓ config .*: is right$/m)
  expect(out).toContain(`✓ gateway ${url}: is ready`)
  expect(out).toContain('✓ runner gpu-a: serves m1, m2')
  expect(out).toMatch(/✓ clock of runner gpu-a: agrees/)
})

test.each([
  ['a runner that is away', async () => config(nobody), 'runner gpu-a', /nothing listens there/],
  [
    'a model that is not served',
    async () => config(await startFakeRunner(['m2'])),
    'runner gpu-a',
    /does not serve m1/,
  ],
  [
    'a key that is refused',
    async () => config(await startFakeRunner(['m1']), ', apiKeyFile: bad.key'),
    'runner gpu-a',
    /refuses our key \(status 401\)/,
  ],
  [
    'a clock that is wrong',
    async () => config(await startFakeRunner(['m1'], { date: 'Tue, 14 Nov 2023 22:13:20 GMT' })),
    'clock of runner gpu-a',
    /is \d+ s off/,
  ],
  [
    'a collector that is away',
    async () => `${config(await startFakeRunner(['m1']))}telemetry: { otlpEndpoint: "${nobody}" }\n`,
    'telemetry',
    /nothing listens there/,
  ],
  [
    'a store that is away',
    async () => `${config(await startFakeRunner(['m1']))}store: { kind: redis, url: "redis://127.0.0.1:1" }\n`,
    'store',
    /nothing listens there/,
  ],
  ['a configuration that is wrong', async () => 'runners: 7\n', 'config', /runners \(line 1\): must be array/],
])('doctor finds %s, says what to do and ends with 1', async (_title, text, check, note) => {
  await using dir = createTempDir()
  const { url } = await startFakeGateway()
  writeFileSync(dir.file('bad.key'), 'bad\n')
  writeFileSync(dir.file('a.yaml'), await text())
  const { code, out } = await foldgate(['doctor', '--config', dir.file('a.yaml'), '--admin', url, '-o', 'json'])
  const failed = (JSON.parse(out) as { check: string; result: string; note: string; next?: string }[]).filter(
    (each) => each.result === 'failed',
  )
  expect(code).toBe(1)
  expect(failed).toHaveLength(1)
  expect(failed[0]?.check.startsWith(check)).toBe(true)
  expect(failed[0]?.note).toMatch(note)
  expect(failed[0]?.next).toBeTruthy()
})

test('doctor finds a gateway that is not ready or away', async () => {
  const { url, gateway } = await startFakeGateway()
  gateway.health = [{ name: 'runner', ok: false, note: 'gpu-a' }]
  const notReady = await foldgate(['doctor', '--admin', url])
  expect(notReady).toMatchObject({ code: 1, out: expect.stringContaining('is not ready: runner failed: gpu-a') })
  const away = await foldgate(['doctor', '--admin', nobody])
  expect(away).toMatchObject({ code: 1, out: expect.stringContaining('nothing listens there') })
})
