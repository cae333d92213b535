import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test, vi } from 'vitest'
import { parse } from 'yaml'
import { startProcess } from '../../test/support/processes.ts'
import { createTempDir } from '../../test/support/temp-dir.ts'
import { type RunningAdmin, startAdmin } from '../admin/listener.ts'
import { createFakeGateway } from '../admin/test-operations.ts'

const entry = fileURLToPath(new URL('./foldgate.ts', import.meta.url))

/** Runs one command to its end. */
async function foldgate(args: readonly string[], env: Record<string, string> = {}) {
  const child = await startProcess({ args: [entry, ...args], env })
  const { code } = await child.exit
  return { code, out: child.stdout, err: child.stderr }
}

const open: RunningAdmin[] = []
const servers: Server[] = []
afterEach(async () => {
  for (const admin of open.splice(0)) await admin.close()
  for (const server of servers.splice(0)) server.close()
})

const noRules = { tokens: [], allowedHosts: [] }

async function fakeGateway(rules: Parameters<typeof startAdmin>[0]['rules'] = () => noRules, host = '127.0.0.1') {
  const gateway = createFakeGateway()
  const admin = await startAdmin({ host, port: 0, rules, operations: gateway.operations })
  open.push(admin)
  return { gateway, url: admin.url.replace('0.0.0.0', '127.0.0.1') }
}

async function fakeRunner(models: readonly string[], headers: Record<string, string> = {}): Promise<string> {
  const server = createServer((request, response) => {
    const known = request.url === '/v1/models' || request.url === '/healthz/ready'
    const allowed = request.headers.authorization === undefined || request.headers.authorization === 'Bearer good'
    response.writeHead(known ? (allowed ? 200 : 401) : 404, headers)
    response.end(JSON.stringify({ data: models.map((id) => ({ id })) }))
  })
  servers.push(server)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const nobody = 'http://127.0.0.1:1'

test('help lists every verb that is there and no other, and each explains itself with an example', async () => {
  const { code, out, err } = await foldgate(['--help'])
  expect([code, err]).toEqual([0, ''])
  const verbs = [...out.matchAll(/^ {2}([a-z]+) {2,}/gm)].map((match) => match[1] as string)
  expect(verbs).toEqual(['serve', 'check', 'runner', 'status', 'layers', 'explain', 'doctor', 'drain', 'key'])
  const helps = await Promise.all(verbs.filter((verb) => verb !== 'runner').map((verb) => foldgate([verb, '--help'])))
  for (const help of helps) {
    expect(help.code).toBe(0)
    expect(help.out).toMatch(/^usage: foldgate /)
    expect(help.out).toMatch(/example:\n {2}foldgate /)
  }
})

test.each([
  ['no verb', [], 2, /usage: foldgate VERB/],
  ['a misspelt verb', ['statsu'], 2, /did you mean status\?/],
  ['a verb near nothing', ['quux'], 2, /--help lists them/],
  ['an unknown option', ['status', '--loud'], 2, /unknown option '--loud'/],
  ['too many arguments', ['layers', 'a'], 2, /"a" is one argument too many/],
  ['a missing argument', ['check'], 2, /something is missing: foldgate check FILE/],
  ['a misspelt format', ['layers', '-o', 'jsno'], 2, /did you mean json\?/],
  ['an admin port that is no URL', ['status', '--admin', 'localhost'], 2, /--admin takes a URL/],
  [
    'an admin port where nobody is',
    ['status', '--admin', nobody],
    1,
    /http:\/\/127\.0\.0\.1:1\/-\/status: nothing listens there/,
  ],
  ['a key verb that is not new', ['key', 'old'], 2, /key knows one thing to do: new/],
])('%s ends with exit code %3$s and says so on stderr only', async (_title, args, code, said) => {
  const ended = await foldgate(args)
  expect(ended.err).toMatch(said)
  expect(ended).toMatchObject({ code, out: '' })
})

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

test('status shows each replica and ends with 3 when one is degraded, with 1 when one is away', async () => {
  const first = await fakeGateway()
  const second = await fakeGateway()
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
  const { url } = await fakeGateway()
  await using child = await startProcess({
    args: [entry, 'status', '-w', '--interval', '0.05', '-o', 'name', '--admin', url],
    ready: / ok\n(.*\n)*.* ok\n/,
  })
  child.signal('SIGINT')
  expect(await child.exit).toEqual({ code: 0, signal: null })
})

test('layers come as table, wide, JSON, YAML and names', async () => {
  const { url } = await fakeGateway()
  const as = async (format: string) => (await foldgate(['layers', '--admin', url, '-o', format])).out
  const [table, wide, json, yaml, name] = await Promise.all(['table', 'wide', 'json', 'yaml', 'name'].map(as))
  expect(table).toBe(
    'LAYER  STAGE    WHERE    STATUS\nauth   gateway  gateway  active\ncache  off      none     evaporation-bypassed\n',
  )
  expect(wide).toMatch(/ROUTES\nauth .* chat, models\n/)
  expect(JSON.parse(json ?? '')).toMatchObject([{ admin: url, name: 'auth', on: true }, { name: 'cache' }])
  expect(parse(yaml ?? '')).toEqual(JSON.parse(json ?? ''))
  expect(name).toBe('auth\ncache\n')
})

test('explain tells a layer by its name and a call by its id', async () => {
  const { url } = await fakeGateway()
  const ask = (what: string) => foldgate(['explain', what, '--admin', nobodyElse(url)])
  const [layer, call, unknown] = await Promise.all([ask('auth'), ask('req-1'), ask('nothing&id=req-1')])
  expect(layer.out).toMatch(/^layer +auth\nstage +gateway\n/)
  expect(layer.out).toContain('  anonymous: true')
  expect(call.out).toMatch(/^request +req-1\n/)
  expect(call.out).toMatch(/^auth +pass +0\.10 ms/m)
  expect(call.out).toMatch(/^gpu-a +m +1\.00 ms +11 ms +200$/m)
  expect(unknown).toMatchObject({ code: 1, out: '' })
  expect(unknown.err).toContain('neither a layer nor a call')
})
const nobodyElse = (url: string) => `${url}/`

test('a token file opens an admin port that is not on loopback, and its absence is explained', async () => {
  await using dir = createTempDir()
  const token = { name: 'oncall', role: 'operator' as const, digest: createHash('sha256').update('tok').digest() }
  const { url, gateway } = await fakeGateway(() => ({ tokens: [token], allowedHosts: [] }), '0.0.0.0')
  writeFileSync(dir.file('token'), 'tok\n')
  const without = await foldgate(['layers', '--admin', url])
  expect(without).toMatchObject({ code: 1, out: '' })
  expect(without.err).toContain('pass one with --token-file')
  const args = ['drain', '--reason', 'node goes', '--admin', url, '--token-file', dir.file('token')]
  expect(await foldgate(args)).toMatchObject({ code: 0, out: `${url} draining\n` })
  expect(gateway.told).toEqual(['drain oncall true node goes'])
})

test('drain --wait comes back when nothing is in flight any more', async () => {
  const { url, gateway } = await fakeGateway()
  const drained = vi.spyOn(gateway.operations, 'drained')
  const ended = foldgate(['drain', '--wait', '--admin', url])
  await vi.waitFor(() => expect(drained).toHaveBeenCalledTimes(1), { timeout: 10_000 })
  expect(gateway.told[0]).toMatch(/^drain \S+ false -$/)
  gateway.end()
  expect(await ended).toMatchObject({ code: 0, out: `${url} drained\n` })
})

test('drain --wait ends with 1 when calls outlive the deadline', async () => {
  const { url, gateway } = await fakeGateway()
  gateway.end(false)
  expect(await foldgate(['drain', '--wait', '--admin', url])).toMatchObject({
    code: 1,
    out: `${url} not drained: 2 still in flight\n`,
  })
})

test('key new prints a key and its hash, and writes the hash to a new file of the owner only', async () => {
  await using dir = createTempDir()
  const file = dir.file('ci.hash')
  const { code, out, err } = await foldgate(['key', 'new', '--hash-file', file])
  expect(code).toBe(0)
  const [, key = '', hash = ''] = /^key {3}(\S+)\nhash {2}([0-9a-f]{64})\n$/.exec(out) ?? []
  expect(createHash('sha256').update(key).digest('hex')).toBe(hash)
  expect(readFileSync(file, 'utf8')).toBe(`${hash}\n`)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(err).not.toContain(key)
  expect(await foldgate(['key', 'new', '--hash-file', file])).toMatchObject({ code: 2, out: '' })
  expect(readFileSync(file, 'utf8')).toBe(`${hash}\n`)
})

const config = (url: string, more = '') =>
  `runners: [ { name: gpu-a, kind: openai, url: "${url}"${more} } ]\nlayers: { routing: { targets: [ { runner: gpu-a, model: m1 } ] } }\n`

test('doctor finds everything in order', async () => {
  await using dir = createTempDir()
  const { url } = await fakeGateway()
  writeFileSync(dir.file('a.yaml'), config(await fakeRunner(['m1', 'm2'])))
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
  ['a model that is not served', async () => config(await fakeRunner(['m2'])), 'runner gpu-a', /does not serve m1/],
  [
    'a key that is refused',
    async () => config(await fakeRunner(['m1']), ', apiKeyFile: bad.key'),
    'runner gpu-a',
    /refuses our key \(status 401\)/,
  ],
  [
    'a clock that is wrong',
    async () => config(await fakeRunner(['m1'], { date: 'Tue, 14 Nov 2023 22:13:20 GMT' })),
    'clock of runner gpu-a',
    /is \d+ s off/,
  ],
  [
    'a collector that is away',
    async () => `${config(await fakeRunner(['m1']))}telemetry: { otlpEndpoint: "${nobody}" }\n`,
    'telemetry',
    /nothing listens there/,
  ],
  [
    'a store that is away',
    async () => `${config(await fakeRunner(['m1']))}store: { kind: redis, url: "redis://127.0.0.1:1" }\n`,
    'store',
    /nothing listens there/,
  ],
  ['a configuration that is wrong', async () => 'runners: 7\n', 'config', /runners \(line 1\): must be array/],
])('doctor finds %s, says what to do and ends with 1', async (_title, text, check, note) => {
  await using dir = createTempDir()
  const { url } = await fakeGateway()
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
  const { url, gateway } = await fakeGateway()
  gateway.health = [{ name: 'runner', ok: false, note: 'gpu-a' }]
  const notReady = await foldgate(['doctor', '--admin', url])
  expect(notReady).toMatchObject({ code: 1, out: expect.stringContaining('is not ready: runner failed: gpu-a') })
  const away = await foldgate(['doctor', '--admin', nobody])
  expect(away).toMatchObject({ code: 1, out: expect.stringContaining('nothing listens there') })
})

test('results of another machine cannot steer a terminal', async () => {
  const { url, gateway } = await fakeGateway()
  gateway.problems = ['\u001b[2Jwiped']
  const { out } = await foldgate(['status', '--admin', url])
  expect(out).toContain('?[2Jwiped')
  expect(out).not.toContain('\u001b')
})

test.runIf(existsSync(new URL('../../native-runner/main.ts', import.meta.url)))(
  'runner starts the native runner as a child, passes signals on, and takes over its exit code',
  async () => {
    await using child = await startProcess({
      args: [entry, 'runner', '--engine', 'echo', '--port', '0'],
      ready: /listening on (http:\S+)/,
    })
    expect((await fetch(`${child.readyMatch[1]}/healthz/live`)).status).toBe(200)
    child.signal('SIGTERM')
    expect(await child.exit).toEqual({ code: 0, signal: null })
    expect((await foldgate(['runner', '--nonsense'])).code).toBe(2)
  },
)
