import { generateKeyPairSync } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createTempDir } from '../test/support/temp-dir.ts'
import { configSchema } from './installed.ts'
import { loadConfig } from './load.ts'
import { faultsOf } from './test-config.ts'

const presets = new URL('./presets/', import.meta.url)
const keyPair = generateKeyPairSync('ed25519', {
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
})
const hash = `${'ab'.repeat(32)}\n`
const secrets: Record<string, string> = {
  'admin-oncall.hash': hash,
  'admin-dashboard.hash': hash,
  'caller.hash': hash,
  'signing-k1': `${'k'.repeat(43)}\n`,
  'signing-2026-11.pem': keyPair.privateKey,
  'runner-ack.pub': keyPair.publicKey,
  'runner-key': `${'r'.repeat(43)}\n`,
  'redis-url': 'redis://:password@redis:6379/0\n',
}

/** What the start fills into the default configuration. */
const filledIn = (file: (name: string) => string): Record<string, string> => ({
  FOLDGATE__RUNNERS__0__URL: 'http://127.0.0.1:4321',
  FOLDGATE__RUNNERS__0__API_KEY_FILE: file('runner-key'),
  FOLDGATE__SIGNING__KEYS__0__SECRET_FILE: file('signing-k1'),
  FOLDGATE__LAYERS__AUTH__API_KEYS__0__HASH_FILE: file('caller.hash'),
  FOLDGATE__LAYERS__ROUTING__TARGETS__0__MODEL: 'smollm2',
})

/** Whatever is commented out as a section of its own, written out. */
const withSections = (text: string): string => text.replaceAll(/^# (folding:| {2}stages:| {4}[a-z-]+: [a-z]+$)/gm, '$1')

const ways: readonly [string, (text: string) => string][] = [
  ['as it is', (text) => text],
  ['with the stages that it proposes', withSections],
]
const files = readdirSync(presets)

test.each(ways.flatMap((way) => files.map((name) => [name, ...way] as const)))(
  '%s, %s, is right, without a warning',
  async (name, _, change) => {
    await using dir = createTempDir()
    for (const [file, content] of Object.entries(secrets)) writeFileSync(dir.file(file), content)
    const text = readFileSync(new URL(name, presets), 'utf8').replaceAll('/run/secrets/', `${dir.path}/`)
    writeFileSync(dir.file(name), change(text))
    const env = name === 'default.yaml' ? filledIn(dir.file) : {}
    const load = () => loadConfig(dir.file(name), { schema: configSchema, env })
    expect(faultsOf(load)).toEqual([])
    expect(load().warnings).toEqual([])
    expect(JSON.stringify(load().view)).not.toContain('password')
  },
)

test('the examples propose stages', () => {
  const examples = files.filter((name) => name.includes('.example.'))
  expect(examples).toHaveLength(2)
  for (const name of examples) {
    const text = withSections(readFileSync(new URL(name, presets), 'utf8'))
    expect(text).toMatch(/^folding:\n {2}stages:\n {4}postprocess: /m)
  }
})
