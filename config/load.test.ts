import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { loadConfig } from './load.ts'
import { createConfigDir, faultsOf, leastConfig, testSchema } from './test-config.ts'

const withLine = (section: string) => `${leastConfig}${section}\n`

test.each([
  [
    'a misspelt key is named with its line and what it was meant to be',
    'listen: { prot: 1 }',
    'listen.prot (line 2): unknown key; did you mean port?',
  ],
  ['a misspelt section too', 'telemtry: {}', 'telemtry (line 2): unknown key; did you mean telemetry?'],
  [
    'a key near nothing lists what there is',
    'drain: { zzz: 1 }',
    'drain.zzz (line 2): unknown key; known: delayMs, graceMs',
  ],
  ['a wrong type is named', 'listen:\n  port: eighty', 'listen.port (line 3): must be integer'],
  ['a value out of range is named', 'telemetry:\n\n  sampleRatio: 2', 'telemetry.sampleRatio (line 4): must be <= 1'],
  [
    'a misspelt word is named with the right one',
    'headers: { layerStatus: plian }',
    'headers.layerStatus (line 2): must be one of "dictionary", "summary", "plain"; did you mean "plain"?',
  ],
  [
    'a missing field stands at its parent',
    'signing:\n  keys:\n    - { alg: HS256 }',
    'signing.keys[0].kid (line 4): is required',
  ],
  [
    'a stage of a layer that is off is a fault',
    'folding: { stages: { auth: shadow } }',
    'folding.stages.auth (line 2): is shadow, but the layer is off: layers.auth is not there',
  ],
  [
    'peers without a key are a fault',
    'folding: { peers: [gateway.internal] }',
    'folding.peers (line 2): replicas cannot believe each other without a key in signing.keys',
  ],
  [
    'embeddings of no runner are a fault',
    'folding: { shadow: { similarity: { kind: embeddings, model: m } } }',
    'folding.shadow.similarity.runner (line 2): is required: name the runner that makes embeddings; must be one of runners: gpu-a',
  ],
  [
    'embeddings of a runner that there is not name the one that was meant',
    'folding: { shadow: { similarity: { kind: embeddings, model: m, runner: gpu-b } } }',
    'folding.shadow.similarity.runner (line 2): there is no runner gpu-b; did you mean gpu-a?',
  ],
  [
    'embeddings of no model are a fault',
    'folding: { shadow: { similarity: { kind: embeddings, runner: gpu-a } } }',
    'folding.shadow.similarity.model (line 2): is required: name the model that makes embeddings',
  ],
  [
    'texts that are compared by their words need no runner',
    'folding: { shadow: { similarity: { kind: lexical } } }',
    undefined,
  ],
  [
    'an undo without a Deployment is a fault',
    'folding: { kubernetes: { rollback: true } }',
    'folding.kubernetes.deployment (line 2): is needed: kubernetes.rollback is on',
  ],
  [
    'a target that names no runner is near one',
    'layers: { routing: { targets: [ { runner: gpu-b, model: m } ] } }',
    'layers.routing.targets[0].runner (line 2): names no runner; did you mean gpu-a?',
  ],
  ['an unknown layer is named', 'layers: { routng: {} }', 'layers.routng (line 2): unknown key; did you mean routing?'],
  ['duplicate keys are faults', 'drain: {}\ndrain: {}', ' (line 3): map keys must be unique'],
  [
    'a signing key that is not active anywhere is named',
    'signing: { active: k9 }',
    'signing.active (line 2): names no key; there is none',
  ],
  [
    'two listeners cannot share a port',
    'admin: { port: 8080 }',
    'admin.port (line 2): must differ from listen.port, which is 8080 too',
  ],
  [
    'a proxy that is no network is named',
    'listen: { trustedProxies: [ 10.0.0.0/8, 10.0.0.0/33 ] }',
    'listen.trustedProxies[1] (line 2): must be an IP address or a network such as 10.0.0.0/8',
  ],
  [
    'a token with two hashes is refused',
    'admin: { tokens: [ { name: a, role: viewer } ] }',
    'admin.tokens[0] (line 2): needs exactly one of hash and hashFile',
  ],
  ['an infinite number is no null', 'access: { debugScope: .inf }', undefined],
])('%s', async (_title, section, fault) => {
  await using dir = createConfigDir(withLine(section))
  const faults = faultsOf(() => dir.load())
  if (fault === undefined) expect(faults).toEqual([])
  else expect(faults).toEqual([fault])
})

test('every fault is reported at once, in the order of lines', async () => {
  await using dir = createConfigDir(
    [
      'runners:',
      '  - { name: gpu-a, kind: native, url: "http://127.0.0.1:1", apiKeyFile: none.key }',
      '  - { name: gpu-a, kind: native, url: "http://u:p@127.0.0.1:1" }',
      'listen: { port: 99999 }',
      'signing: { keys: [ { kid: k1, alg: HS256, secretFile: short.key } ] }',
      'layers:',
      '  cache: { ttl_seconds: -1 }',
      '  routing: { targets: [ { runner: gpu-z9, model: m } ] }',
      'nonsense: 1',
    ].join('\n'),
  )
  dir.write('short.key', 'too short\n')
  expect(faultsOf(() => dir.load())).toEqual([
    `runners[0].apiKeyFile (line 2): ${dir.file('none.key')} does not exist`,
    'runners[1].apiKeyFile (line 3): is required: a native runner with signing keys refuses calls that bear neither context nor API key',
    'runners[1].name (line 3): gpu-a is the name of runners[0] already',
    'runners[1].url (line 3): must not hold a user or password; use apiKeyFile or headers',
    'listen.port (line 4): must be <= 65535',
    `signing.keys[0].secretFile (line 5): ${dir.file('short.key')} holds 9 bytes; at least 32 are needed`,
    'layers.cache.ttl_seconds (line 7): must be >= 0',
    'layers.routing.targets[0].runner (line 8): names no runner; there are gpu-a, gpu-a',
    expect.stringMatching(/^nonsense \(line 9\): unknown key; known: listen, admin, /),
  ])
})

test.each([
  ['a file that ends in the middle', 'runners: [ { name: gpu-a', /line 1\): flow map/],
  ['an empty file', '', /the file is empty/],
  ['a file of comments only', '# nothing\n', /the file is empty/],
  ['a list', '- 1', /must be a section/],
  ['a text', 'hello', /must be a section/],
  ['two documents', 'a: 1\n---\nb: 2', /line 2\)/],
  ['an unknown tag', 'runners: !!js/function "x"', /unresolved tag/],
  ['an anchor inside itself', 'runners: &a [ *a ]', /an anchor is used inside itself/],
  ['endless nesting', `runners: ${'['.repeat(20_000)}`, /nested too deeply/],
  ['aliases that multiply', bomb(), /aliases stand for too much/],
])('%s is a fault and no crash', async (_title, text, fault) => {
  await using dir = createConfigDir(text)
  const faults = faultsOf(() => dir.load())
  expect(faults.length).toBeLessThanOrEqual(2)
  expect(faults[0]).toMatch(fault)
})

function bomb(): string {
  const levels = Array.from(
    { length: 8 },
    (_, level) => `  - &a${level + 1} [${Array(10).fill(`*a${level}`).join(',')}]`,
  )
  return ['runners:', '  - &a0 [1,1,1,1,1,1,1,1,1,1]', ...levels].join('\n')
}

test('a file that is not there, or is a directory, or not text, is a fault', async () => {
  await using dir = createConfigDir(leastConfig)
  dir.write('gateway.yaml', Buffer.from([0x72, 0xff, 0xfe]))
  expect(faultsOf(() => dir.load())).toEqual([` (line -): ${dir.config} is not UTF-8 text`])
  const load = (file: string) => faultsOf(() => loadConfig(file, { schema: testSchema, env: {} }))
  expect(load(dir.file('none.yaml'))).toEqual([` (line -): ${dir.file('none.yaml')} does not exist`])
  expect(load(dir.path)).toEqual([` (line -): ${dir.path} is not a file`])
})

test('defaults are filled in everywhere, inside lists and layers too', async () => {
  await using dir = createConfigDir(withLine('layers: { auth: { apiKeys: [ { id: ci } ] }, cache: {} }'))
  const { config, digest } = dir.load()
  expect(config.listen).toMatchObject({
    host: '127.0.0.1',
    port: 8080,
    keepAliveTimeoutMs: 75_000,
    passthrough: ['/v1/'],
  })
  expect(config.admin).toMatchObject({ host: '127.0.0.1', port: 9901, tokens: [] })
  expect(config.runners[0]).toMatchObject({
    maxAttempts: 2,
    ejectAfter: 3,
    tls: { caFile: null },
    includeUsage: 'auto',
  })
  expect(config.layers).toEqual({
    auth: { anonymous: false, apiKeys: [{ id: 'ci', hashFile: null }] },
    cache: { ttl_seconds: 300, input_hash_fields: null },
  })
  expect(config.folding.stages).toEqual({ auth: 'gateway', cache: 'gateway', routing: 'gateway' })
  expect(config.drain).toEqual({ delayMs: 5_000, graceMs: 30_000 })
  expect(digest).toMatch(/^[0-9a-f]{64}$/)
})

test('JSON with tabs and a byte order mark is read, and its lines are known', async () => {
  const text = `\ufeff{\n\t"runners": [\n\t\t{ "name": "gpu-a", "kind": "openai", "url": "http://127.0.0.1:8000" }\n\t],\n\t"drain": { "graceMs": -1 }\n}`
  await using dir = createConfigDir(text, 'gateway.json')
  expect(faultsOf(() => dir.load())).toEqual(['drain.graceMs (line 5): must be >= 0'])
})

test('anchors, aliases and merge keys work, and their lines are known', async () => {
  await using dir = createConfigDir(
    'runners:\n  - &one { name: gpu-a, kind: openai, url: "http://127.0.0.1:1", ejectMs: 7 }\n  - <<: *one\n    name: gpu-b\nadmin: { prot: 1 }\n',
  )
  expect(faultsOf(() => dir.load())).toEqual(['admin.prot (line 5): unknown key; did you mean port?'])
  writeFileSync(dir.config, readFileSync(dir.config, 'utf8').replace('prot: 1', 'port: 1'))
  const { runners } = dir.load().config
  expect(runners.map(({ name, ejectMs }) => [name, ejectMs])).toEqual([
    ['gpu-a', 7],
    ['gpu-b', 7],
  ])
})

test('a key called __proto__ changes nothing but is unknown', async () => {
  await using dir = createConfigDir(withLine('listen: { __proto__: { port: 1 } }'))
  expect(faultsOf(() => dir.load())[0]).toMatch(/^listen.__proto__ \(line 2\): unknown key/)
  expect(({} as { port?: number }).port).toBeUndefined()
})

test('what is doubtful is a warning and no fault', async () => {
  await using dir = createConfigDir(
    withLine(
      'listen: { trustedProxies: [ 0.0.0.0/0 ] }\nadmin: { host: 0.0.0.0 }\nlayers: { cache: { input_hash_fields: [ "messages.0.content" ] } }',
    ),
  )
  expect(dir.load().warnings.map(({ path, line }) => [path, line])).toEqual([
    ['listen.trustedProxies', 2],
    ['admin.tokens', 3],
    ['layers.cache.input_hash_fields', 4],
  ])
})

test('while the existing chain serves, a layer that starts anywhere but in the gateway is a fault at its path', async () => {
  const folding = (stage: string) =>
    `folding: { shadow: { legacy: { url: "http://127.0.0.1:1" } }, stages: { cache: ${stage} } }`
  const faults = async (stage: string) => {
    await using dir = createConfigDir(`${leastConfig}layers: { cache: {} }\n${folding(stage)}\n`)
    return faultsOf(() => dir.load())
  }
  expect(await faults('shadow')).toContain(
    'folding.stages.cache (line 3): must be gateway while folding.shadow.legacy serves, not shadow: its layers only observe',
  )
  expect(await faults('gateway')).toEqual([])
})
