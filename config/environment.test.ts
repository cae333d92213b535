import { expect, test } from 'vitest'
import { createConfigDir, faultsOf, leastConfig } from './test-config.ts'

test.each([
  ['FOLDGATE__LISTEN__PORT', '9000', { listen: { port: 9000 } }],
  ['foldgate__listen__port', '9000', { listen: { port: 9000 } }],
  ['FOLDGATE__LISTEN__BODYLIMITBYTES', '4096', { listen: { bodyLimitBytes: 4096 } }],
  ['FOLDGATE__LISTEN__BODY_LIMIT_BYTES', '4096', { listen: { bodyLimitBytes: 4096 } }],
  ['FOLDGATE__LISTEN__TRUSTEDPROXIES__0', '10.0.0.0/8', { listen: { trustedProxies: ['10.0.0.0/8'] } }],
  ['FOLDGATE__LISTEN__TRUSTEDPROXIES', '["::1"]', { listen: { trustedProxies: ['::1'] } }],
  ['FOLDGATE__RUNNERS__0__URL', 'http://gpu:9', { runners: [{ name: 'gpu-a', url: 'http://gpu:9' }] }],
  ['FOLDGATE__RUNNERS__0__TLS__SERVERNAME', 'gpu', { runners: [{ tls: { serverName: 'gpu' } }] }],
  ['FOLDGATE__RUNNERS__0__HEADERS__X-TEAM', 'a', { runners: [{ headers: { 'x-team': 'a' } }] }],
  ['FOLDGATE__TELEMETRY__SAMPLERATIO', '5e-1', { telemetry: { sampleRatio: 0.5 } }],
  ['FOLDGATE__HEADERS__TRUSTREQUESTID', 'FALSE', { headers: { trustRequestId: false } }],
  ['FOLDGATE__ACCESS__DEBUGSCOPE', 'null', { access: { debugScope: null } }],
  ['FOLDGATE__ACCESS__DEBUGSCOPE', '17', { access: { debugScope: '17' } }],
  ['FOLDGATE__LAYERS__CACHE__TTL_SECONDS', '7', { layers: { cache: { ttl_seconds: 7 } } }],
  ['FOLDGATE__LAYERS__AUTH__APIKEYS__0__ID', 'ci', { layers: { auth: { apiKeys: [{ id: 'ci' }] } } }],
  ['FOLDGATE__LAYERS__CACHE', '{"ttl_seconds":1}', { layers: { cache: { ttl_seconds: 1 } } }],
])('%s=%s sets what it names', async (name, value, expected) => {
  await using dir = createConfigDir(leastConfig)
  expect(dir.load({ [name]: value }).config).toMatchObject(expected)
})

test.each([
  [
    'FOLDGATE__LISTEN__PROT',
    '1',
    'listen (line -): environment variable FOLDGATE__LISTEN__PROT: nothing is called prot; did you mean port?',
  ],
  ['FOLDGATE__LISTEN__PORT', 'many', 'listen.port (line -): must be integer (set by FOLDGATE__LISTEN__PORT)'],
  [
    'FOLDGATE__RUNNERS__2__NAME',
    'x',
    'runners (line 1): environment variable FOLDGATE__RUNNERS__2__NAME: index 2 leaves a gap: the list has 1',
  ],
  [
    'FOLDGATE__RUNNERS__FIRST__NAME',
    'x',
    'runners (line 1): environment variable FOLDGATE__RUNNERS__FIRST__NAME: first is no index of a list',
  ],
  [
    'FOLDGATE__LISTEN____PORT',
    '1',
    'listen (line -): environment variable FOLDGATE__LISTEN____PORT: has an empty level',
  ],
  [
    'FOLDGATE__LISTEN__PORT__DEEPER',
    '1',
    'listen.port (line -): environment variable FOLDGATE__LISTEN__PORT__DEEPER: names something inside a value that holds nothing',
  ],
  ['FOLDGATE____PROTO____POLLUTED', '1', expect.stringMatching(/empty level/)],
])('%s=%s is a fault that names the variable', async (name, value, fault) => {
  await using dir = createConfigDir(leastConfig)
  expect(faultsOf(() => dir.load({ [name]: value }))).toEqual([fault])
  expect(({} as { polluted?: string }).polluted).toBeUndefined()
})

test('a setting made twice in different spellings is a fault', async () => {
  await using dir = createConfigDir(leastConfig)
  const env = { FOLDGATE__LISTEN__PORT: '1', foldgate__listen__port: '2' }
  expect(faultsOf(() => dir.load(env))).toEqual([expect.stringMatching(/^listen.port .*is set twice/)])
})

test('variables with one underscore, as Kubernetes makes them for a service, set nothing', async () => {
  await using dir = createConfigDir(leastConfig)
  const env = { FOLDGATE_PORT: 'tcp://10.0.0.1:8080', FOLDGATE_SERVICE_HOST: '10.0.0.1' }
  expect(dir.load(env).config.listen.port).toBe(8080)
})

test('a new runner can come from the environment alone, in any order of the variables', async () => {
  await using dir = createConfigDir(leastConfig)
  const env = {
    FOLDGATE__RUNNERS__1__URL: 'http://127.0.0.1:2',
    FOLDGATE__RUNNERS__1__NAME: 'gpu-b',
    FOLDGATE__RUNNERS__1__KIND: 'openai',
  }
  expect(dir.load(env).config.runners.map((runner) => runner.name)).toEqual(['gpu-a', 'gpu-b'])
})
