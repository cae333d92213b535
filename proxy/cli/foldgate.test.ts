import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { startProcess } from '../../test/support/processes.ts'
import { createTempDir } from '../../test/support/temp-dir.ts'
import { entry, foldgate, foldgateHere, nobody } from './test-command.ts'

const preset = fileURLToPath(new URL('../../config/presets/default.yaml', import.meta.url))

test('help lists every verb that is there and no other, and each explains itself with an example', async () => {
  const { code, out, err } = await foldgate(['--help'])
  expect([code, err]).toEqual([0, ''])
  const verbs = [...out.matchAll(/^ {2}([a-z]+) {2,}/gm)].map((match) => match[1] as string)
  expect(verbs).toEqual([
    ...['serve', 'check', 'compile', 'runner', 'status', 'layers', 'explain', 'history', 'diff', 'evidence'],
    ...['shadow', 'canary', 'promote', 'hold', 'resume', 'rollback', 'freeze', 'degrade', 'purge'],
    ...['doctor', 'drain', 'key', 'demo'],
  ])
  const helps = await Promise.all(
    verbs.filter((verb) => verb !== 'runner').map((verb) => foldgateHere([verb, '--help'])),
  )
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
  ['a change without a reason', ['shadow', 'cache'], 2, /--reason TEXT is missing/],
  ['a change with an empty reason', ['rollback', '--all', '--reason', ' '], 2, /--reason TEXT is missing/],
  ['a freeze without a reason', ['freeze'], 2, /--reason TEXT is missing/],
  ['degrading nothing', ['degrade', '--reason', 'x'], 2, /say what to do without: --no-stream/],
  ['a purge of nothing', ['purge', '--reason', 'x'], 2, /say what to purge: --tenant/],
  ['a rollback of nothing', ['rollback', '--reason', 'x'], 2, /name one layer, or say --all/],
  ['a rollback of one and all', ['rollback', 'cache', '--all', '--reason', 'x'], 2, /name one layer, or say --all/],
  [
    'an undo beside the rollback of one layer',
    ['rollback', 'cache', '--kubernetes', '--reason', 'x'],
    2,
    /--kubernetes goes with --all/,
  ],
  ['a history of no length', ['history', '--limit', '0'], 2, /whole number from 1 to 1000/],
  ['an egress host that is none', ['compile', preset, '--egress', 'a/b'], 2, /--egress takes host or host:port/],
  ['a key verb that is not new', ['key', 'old'], 2, /key knows one thing to do: new/],
])('%s ends with exit code %3$s and says so on stderr only', async (_title, args, code, said) => {
  const ended = await foldgate(args)
  expect(ended.err).toMatch(said)
  expect(ended).toMatchObject({ code, out: '' })
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
