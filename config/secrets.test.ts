import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { readSecretFile } from './secret-file.ts'
import { createConfigDir, faultsOf, leastConfig } from './test-config.ts'

const runner = (more: string) => `runners: [ { name: gpu-a, kind: openai, url: "http://127.0.0.1:8000", ${more} } ]\n`

test('one trailing newline of a secret file is trimmed and no more', async () => {
  await using dir = createConfigDir(leastConfig)
  const read = (content: string) => readSecretFile(dir.write('secret', content)).toString()
  expect(read('s3cret')).toBe('s3cret')
  expect(read('s3cret\n')).toBe('s3cret')
  expect(read('s3cret\r\n')).toBe('s3cret')
  expect(read('s3cret\n\n')).toBe('s3cret\n')
  expect(read(' s3cret ')).toBe(' s3cret ')
})

test('a key of 32 bytes is enough and 31 are not, the newline not counted', async () => {
  await using dir = createConfigDir(
    `${leastConfig}signing: { keys: [ { kid: k1, alg: HS256, secretFile: k1.key } ] }\n`,
  )
  dir.write('k1.key', `${'k'.repeat(32)}\n`)
  expect(dir.load().files).toEqual([dir.file('k1.key')])
  dir.write('k1.key', `${'k'.repeat(31)}\n`)
  expect(faultsOf(() => dir.load())).toEqual([
    `signing.keys[0].secretFile (line 2): ${dir.file('k1.key')} holds 31 bytes; at least 32 are needed`,
  ])
})

test('${file:…} is read relative to the configuration, whole or inside a text, and shown as written', async () => {
  await using dir = createConfigDir(runner('headers: { x-key: "Key ${file:key.txt}" }'))
  dir.write('key.txt', 'top-secret\n')
  const { config, view, files, digest } = dir.load()
  expect(config.runners[0]?.headers).toEqual({ 'x-key': 'Key top-secret' })
  expect(JSON.stringify(view)).toContain('Key ${file:key.txt}')
  expect(JSON.stringify(view)).not.toContain('top-secret')
  expect(files).toEqual([dir.file('key.txt')])
  dir.write('key.txt', 'other\n')
  expect(dir.load().digest).toBe(digest)
})

test('a ${file:…} that is not there is a fault where it stands, and no content of a file is ever in a fault', async () => {
  await using dir = createConfigDir(
    `store: { kind: redis, url: "\${file:url.txt}" }\n${runner('headers: { a: "${file:none}" }')}`,
  )
  dir.write('url.txt', 'ftp://top-secret\n')
  const faults = faultsOf(() => dir.load())
  expect(faults).toHaveLength(2)
  expect(faults[0]).toMatch(/^store.url \(line 1\): must match/)
  expect(faults[1]).toBe(`runners[0].headers.a (line 2): ${dir.file('none')} does not exist`)
  expect(faults.join()).not.toContain('top-secret')
})

test('the shown configuration holds no secret', async () => {
  await using dir = createConfigDir(
    `${runner('headers: { authorization: "Bearer in-line" }')}store: { kind: redis, url: "redis://me:pass-word@redis:6379/0" }\n` +
      `telemetry: { otlpEndpoint: "https://otel:4318/?key=query-secret" }\nadmin: { tokens: [ { name: a, role: viewer, hash: ${'ab'.repeat(32)} } ] }\n`,
  )
  const { view, config } = dir.load()
  const shown = JSON.stringify(view)
  for (const secret of ['in-line', 'pass-word', 'query-secret', 'abab']) expect(shown).not.toContain(secret)
  expect(shown).toContain('redis://redacted:redacted@redis:6379/0')
  expect(config.runners[0]?.headers['authorization']).toBe('Bearer in-line')
  expect(view).toMatchObject({ listen: { port: 8080 }, runners: [{ url: 'http://127.0.0.1:8000' }] })
})

test.each([
  [
    'a key that cannot stand in a header',
    'apiKeyFile: f',
    'two\nlines',
    /runners\[0\].apiKeyFile .* cannot stand in a header/,
  ],
  ['a public key that is none', 'ackKeyFile: f', 'none', /runners\[0\].ackKeyFile .* must hold an Ed25519 key in PEM/],
  [
    'an authority that is none',
    'tls: { caFile: f }',
    '-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----',
    /runners\[0\].tls .*does not work/,
  ],
  ['a certificate without its key', 'tls: { certFile: f }', 'x', /runners\[0\].tls .*needs both certFile and keyFile/],
])('%s is a fault', async (_title, more, content, fault) => {
  await using dir = createConfigDir(runner(more))
  dir.write('f', content)
  expect(faultsOf(() => dir.load()).join('\n')).toMatch(fault)
})

test('an Ed25519 pair is taken, a key of another kind is not', async () => {
  const text = `${runner('ackKeyFile: ack.pem')}signing: { keys: [ { kid: k1, alg: EdDSA, privateKeyFile: own.pem } ] }\n`
  await using dir = createConfigDir(text)
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  dir.write('ack.pem', publicKey.export({ type: 'spki', format: 'pem' }))
  dir.write('own.pem', privateKey.export({ type: 'pkcs8', format: 'pem' }))
  expect(faultsOf(() => dir.load())).toEqual([])
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  dir.write('own.pem', other.export({ type: 'pkcs8', format: 'pem' }))
  expect(faultsOf(() => dir.load())).toEqual([
    `signing.keys[0].privateKeyFile (line 2): ${dir.file('own.pem')} must hold an Ed25519 key in PEM`,
  ])
})
