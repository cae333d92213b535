import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { acknowledgementKey } from '../../plugins/acknowledgement-verify.ts'
import { createSigningKey } from '../../plugins/jws-key.ts'
import { pageFrom } from '../docs/page.ts'
import { freePort } from '../support/ports.ts'
import { type RunningProcess, startProcess } from '../support/processes.ts'
import { createTempDir, type TempDir } from '../support/temp-dir.ts'
import { allCases, type Conformance, conformanceOf, page } from './conformance.ts'
import { startFaultyRunner } from './faulty-runner.ts'
import { optionsFrom, usage } from './options.ts'
import { offering, plantedFaults } from './planted-faults.ts'

const apiKey = 'a'.repeat(32)
const secret = Buffer.alloc(32, 7)
const pem = {
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
} as const

let dir: TempDir
beforeAll(() => {
  dir = createTempDir()
  const [pair, ack] = [generateKeyPairSync('ed25519', pem), generateKeyPairSync('ed25519', pem)]
  const files = {
    secret,
    'api-key': apiKey,
    private: pair.privateKey,
    public: pair.publicKey,
    'ack-private': ack.privateKey,
    'ack-public': ack.publicKey,
  }
  for (const [name, content] of Object.entries(files)) writeFileSync(dir.file(name), content as string | Buffer)
})
afterAll(() => dir[Symbol.asyncDispose]())

const startRunner = (...args: readonly string[]): Promise<RunningProcess> =>
  startProcess({
    args: ['native-runner/main.ts', '--engine', 'echo', '--port', '0', '--policy-dir', dir.file('policies'), ...args],
    ready: /runner listening on (http:\S+)/,
  })
const urlOf = (runner: RunningProcess): string => runner.readyMatch[1] as string

/** The command in a process of its own, run to its end. */
async function command(...args: readonly string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  await using running = await startProcess({ args: ['test/conformance/main.ts', ...args] })
  const { code } = await running.exit
  return { code, stdout: running.stdout, stderr: running.stderr }
}

describe('the conformance of our own runner', () => {
  let runner: RunningProcess
  beforeAll(async () => {
    runner = await startRunner('--key', `k1=${dir.file('secret')}`, '--api-key-file', dir.file('api-key'))
  })
  afterAll(() => runner[Symbol.asyncDispose]())

  it('holds in every case, none left out', async () => {
    const keys = ['--key', `k1=${dir.file('secret')}`, '--api-key-file', dir.file('api-key')]
    const { code, stdout } = await command('--url', urlOf(runner), ...keys)
    expect(stdout).not.toMatch(/^ {2}(FAILED|skipped)/m)
    expect(stdout).toMatch(/^\d{3} ok, 0 FAILED, in [\d.]+ s$/m)
    expect(code).toBe(0)
  })

  it.each(plantedFaults)('is gone where a runner $does', async ({ section, caught, ...fault }) => {
    const key = createSigningKey({ kid: 'k1', alg: 'HS256', secret })
    await using faulty = await startFaultyRunner(urlOf(runner), key, fault)
    const subject = { url: faulty.url, key, ackKey: acknowledgementKey(key), apiKey }
    const { cases } = await conformanceOf(subject, [section])
    const failed = cases.filter(({ result }) => result === 'failed')
    expect(failed.map(({ title }) => title)).toContain(caught)
    expect(failed.filter(({ asked, came, must }) => !asked || !came || !must)).toEqual([])
    expect(failed.filter(({ came }) => came?.includes('crashed'))).toEqual([])
  })

  it('is that of the layers that a runner offers; the others are skipped', async () => {
    const key = createSigningKey({ kid: 'k1', alg: 'HS256', secret })
    const ackKey = acknowledgementKey(key)
    for (const offered of [['rate-limit', 'prompt'], []]) {
      await using some = await startFaultyRunner(urlOf(runner), key, offering(offered))
      const { cases } = await conformanceOf({ url: some.url, key, ackKey, apiKey })
      expect(cases.filter(({ result }) => result === 'failed')).toEqual([])
      const laws = cases.filter(({ section, result }) => section === 'laws' && result === 'ok')
      expect([...new Set(laws.map(({ title }) => title.split(':')[0]))]).toEqual(offered)
    }
  })

  it('that fails is told in words, and ends the command with 1', async () => {
    const { code, stdout } = await command(
      '--url',
      urlOf(runner),
      '--key',
      `k2=${dir.file('secret')}`,
      '--only',
      'capabilities',
    )
    expect(stdout).toContain(
      [
        '  FAILED   the key that we sign with is known',
        '             asked  GET /.well-known/execution-context',
        '             came   keys is ["k1"]',
        '             must   keys lists the kid k2',
        `             see    ${page}#capabilities`,
      ].join('\n'),
    )
    expect(code).toBe(1)
  })
})

it('a runner whose keys are Ed25519 pairs is held to the same, and reported on as JSON', async () => {
  await using runner = await startRunner('--key', `p1=${dir.file('public')}`, '--ack-key', dir.file('ack-private'))
  const keys = ['--key', `p1=${dir.file('private')}`, '--ack-key-file', dir.file('ack-public')]
  // Where the kind of key matters.
  const only = ['policies', 'contexts', 'acknowledgement', 'decide'].flatMap((section) => ['--only', section])
  const { code, stdout } = await command('--url', urlOf(runner), ...keys, ...only, '-o', 'json')
  const { failed, skipped, cases } = JSON.parse(stdout) as Conformance
  expect(cases.filter(({ result }) => result === 'failed')).toEqual([])
  expect([failed, skipped, code]).toEqual([0, 0, 0])
  expect(cases.length).toBeGreaterThan(70)
})

it('a runner that cannot be reached ends the command with 4, a wrong command line with 2', async () => {
  const url = `http://127.0.0.1:${await freePort()}`
  const away = await command('--url', url, '--key', `k1=${dir.file('secret')}`)
  expect([away.code, away.stderr]).toEqual([4, `${url} cannot be reached: ECONNREFUSED\n`])
  const wrong = await command('--url', url)
  expect([wrong.code, wrong.stderr]).toEqual([2, `--key reads KID=FILE\n\n${usage}`])
})

it.each([
  [['--key', 'k1=secret'], '--url reads http://HOST:PORT'],
  [['--url', 'http://a', '--key', 'k1=secret', '--only', 'nothing'], '--only is one of capabilities'],
  [['--url', 'http://a', '--key', 'k1=secret', '-o', 'yaml'], '-o is one of table, json'],
  [['--url', 'http://a', '--key', 'p1=private'], 'needs --ack-key-file'],
  [['--url', 'http://a', '--key', 'p1=public', '--ack-key-file', 'ack-public'], 'not an Ed25519 key'],
  [['--url', 'http://a', '--key', 'k1=nowhere'], 'does not exist'],
  [['--url', 'http://a', '--key', 'k1=secret', '--more'], "Unknown option '--more'"],
])('%j is no command line: %s', (args, words) => {
  const placed = args.map((each) => each.replace(/(?<==)\w+$|^ack-public$/, (name) => dir.file(name)))
  expect(() => optionsFrom(placed)).toThrow(words)
})

it('every case says where the page has it', () => {
  const anchors = [...pageFrom(page).matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )
  const wrong = Object.values(allCases)
    .flat()
    .filter(({ see }) => !anchors.includes(see))
  expect(wrong.map(({ title, see }) => `${title}: ${see}`)).toEqual([])
})
