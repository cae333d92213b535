import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { startProcess } from '../../test/support/processes.ts'
import { createTempDir } from '../../test/support/temp-dir.ts'
import { entry, foldgate } from './test-command.ts'

test('check prints every fault with path and line on stdout and ends with 1', async () => {
  await using dir = createTempDir()
  writeFileSync(
    dir.file('a.yaml'),
    'runners: [ { name: gpu-a, kind: openai, url: "http://127.0.0.1:1" } ]\nlisten: { prot: 1, host: 7 }\n',
  )
  const { code, out, err } = await foldgate(['check', dir.file('a.yaml')])
  expect(code).toBe(1)
  expect(out).toBe('listen.host (line 2): must be string\nlisten.prot (line 2): unknown key; did you mean port?\n')
  expect(err).toContain('2 faults')
  const json = JSON.parse((await foldgate(['check', dir.file('a.yaml'), '-o', 'json'])).out)
  expect(json).toMatchObject({
    ok: false,
    faults: [
      { path: 'listen.host', line: 2 },
      { path: 'listen.prot', line: 2 },
    ],
  })
})

test('check says ok on stdout and warnings on stderr, and heeds the environment', async () => {
  await using dir = createTempDir()
  writeFileSync(dir.file('a.yaml'), 'runners: [ { name: gpu-a, kind: openai, url: "http://127.0.0.1:1" } ]\n')
  const right = await foldgate(['check', dir.file('a.yaml')])
  expect(right).toMatchObject({ code: 0, out: `ok ${dir.file('a.yaml')}: layers none; runners gpu-a\n` })
  expect(right.err).toMatch(/^warning: layers: is empty/)
  const wrong = await foldgate(['check', dir.file('a.yaml')], { FOLDGATE__LISTEN__PORT: 'x' })
  expect(wrong).toMatchObject({ code: 1, out: 'listen.port: must be integer (set by FOLDGATE__LISTEN__PORT)\n' })
})

test('check names what only a layer can find wrong, in every layer at once', async () => {
  await using dir = createTempDir()
  const runners = 'runners: [ { name: gpu-a, kind: openai, url: "http://127.0.0.1:1" } ]'
  const layers =
    'layers:\n  auth:\n    apiKeys:\n      - { id: ci, tenant: t1 }\n  rate-limit: { limits: [ { key_fields: [ "body..x" ] } ] }'
  writeFileSync(dir.file('a.yaml'), `${runners}\n${layers}\n`)
  const { code, out } = await foldgate(['check', dir.file('a.yaml')])
  expect(code).toBe(1)
  expect(out).toMatch(/^layers\.auth\.apiKeys\[0\] \(line 5\): name exactly one of hash and hashFile$/m)
  expect(out).toMatch(/^layers\.rate-limit\.limits\[0\]\.key_fields\[0\] \(line 6\): /m)
})

test('serve runs a gateway that the other verbs can ask, and SIGTERM ends it with 0', async () => {
  await using dir = createTempDir()
  const text =
    'listen: { port: 0 }\nadmin: { port: 0 }\ndrain: { delayMs: 0, graceMs: 100 }\nlayers: { auth: { anonymous: true } }\n'
  writeFileSync(dir.file('a.yaml'), `${text}runners: [ { name: gpu-a, kind: openai, url: "http://127.0.0.1:1" } ]\n`)
  await using gateway = await startProcess({
    args: [entry, 'serve', dir.file('a.yaml')],
    ready: /"admin":"(http:[^"]+)"/,
  })
  const admin = gateway.readyMatch[1] ?? ''
  expect(await foldgate(['layers', '--admin', admin, '-o', 'name'])).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^auth\n/),
  })
  writeFileSync(dir.file('a.yaml'), 'runners: 7\n')
  await gateway.shows(/"level":"error"/)
  const refused = await foldgate(['status', '--admin', admin])
  expect(refused.code).toBe(3)
  expect(refused.out).toMatch(/^fault +runners \(line 1\): must be array$/m)
  expect(refused.out).toMatch(/^auth +gateway +gateway +active$/m)
  gateway.signal('SIGTERM')
  expect(await gateway.exit).toEqual({ code: 0, signal: null })
})

test('serve says every fault of a configuration and ends with 1', async () => {
  await using dir = createTempDir()
  writeFileSync(dir.file('a.yaml'), 'runners: 7\nlisten: 7\n')
  const { code, out, err } = await foldgate(['serve', dir.file('a.yaml')])
  expect([code, out]).toEqual([1, ''])
  expect(err).toContain('listen (line 2): must be object')
  expect(err).toContain('runners (line 1): must be array')
})

test('check knows the claims that one layer declares for another', async () => {
  await using dir = createTempDir()
  const runners = 'runners: [ { name: gpu-a, kind: openai, url: "http://127.0.0.1:1" } ]\n'
  const limits = 'rate-limit: { limits: [ { key_fields: [ tenant, user_id ], requests_per_minute: 1 } ] }'
  const jwt = 'jwt: { issuer: "https://a.example", audience: b, jwksUrl: "https://a.example/jwks" }'
  const check = (auth: string) => {
    writeFileSync(dir.file('a.yaml'), `${runners}layers: { ${limits}, auth: { ${auth} } }\n`)
    return foldgate(['check', dir.file('a.yaml')])
  }
  expect(await check(`${jwt}, jwt_payload_fields: [ user_id ]`)).toMatchObject({ code: 0, err: '' })
  const undeclared = await check(jwt)
  expect(undeclared.code).toBe(1)
  expect(undeclared.out).toMatch(/^layers\.rate-limit\.limits\[0\]\.key_fields\[1\] \(line 2\): .*user_id/)
})
