import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createTempDir } from '../test/support/temp-dir.ts'
import { configSchema } from './installed.ts'
import { loadConfig } from './load.ts'
import { faultsOf } from './test-config.ts'

const presets = new URL('./presets/', import.meta.url)
const hash = `${'ab'.repeat(32)}\n`
const secrets: Record<string, string> = {
  'admin-oncall.hash': hash,
  'admin-dashboard.hash': hash,
  'caller.hash': hash,
  'signing-2026-11': `${'k'.repeat(43)}\n`,
  'vllm-key': 'key\n',
  'redis-url': 'redis://:password@redis:6379/0\n',
}

/** What the start fills into the default configuration. */
const filledIn = (file: (name: string) => string): Record<string, string> => ({
  FOLDGATE__RUNNERS__0__URL: 'http://127.0.0.1:4321',
  FOLDGATE__RUNNERS__0__API_KEY_FILE: file('vllm-key'),
  FOLDGATE__SIGNING__KEYS__0__SECRET_FILE: file('signing-2026-11'),
  FOLDGATE__LAYERS__AUTH__API_KEYS__0__HASH_FILE: file('caller.hash'),
  FOLDGATE__LAYERS__ROUTING__TARGETS__0__MODEL: 'smollm2',
})

test.each(readdirSync(presets))('%s is right, without a warning', async (name) => {
  await using dir = createTempDir()
  for (const [file, content] of Object.entries(secrets)) writeFileSync(dir.file(file), content)
  const text = readFileSync(new URL(name, presets), 'utf8').replaceAll('/run/secrets/', `${dir.path}/`)
  writeFileSync(dir.file(name), text)
  const env = name === 'default.yaml' ? filledIn(dir.file) : {}
  const load = () => loadConfig(dir.file(name), { schema: configSchema, env })
  expect(faultsOf(load)).toEqual([])
  expect(load().warnings).toEqual([])
  expect(JSON.stringify(load().view)).not.toContain('password')
})
