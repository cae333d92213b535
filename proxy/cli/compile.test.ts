import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createEgress } from '../../native-runner/egress.ts'
import { policyDigest } from '../../plugins/policy.ts'
import { createTempDir } from '../../test/support/temp-dir.ts'
import { startFoldedPair } from '../test-folded.ts'
import type { Compiled } from './compiled.ts'
import { egressFrom } from './egress.ts'
import { foldgateHere as foldgate } from './test-command.ts'

const auth = {
  anonymous: true,
  jwt: { issuer: 'https://id.example', audience: 'b', jwksUrl: 'https://id.example/jwks' },
  apiKeys: [{ id: 'ci', tenant: 't1', hashFile: 'ci.hash' }],
}
const config = (layers: object): string =>
  JSON.stringify({ runners: [{ name: 'gpu-a', kind: 'openai', url: 'http://127.0.0.1:1' }], layers })

test('compile folds every layer, and says with --explain what a runner that is started so would refuse, and what would do', async () => {
  await using dir = createTempDir()
  const limits = [{ key_fields: ['facts.peer'], requests_per_minute: 9 }]
  writeFileSync(dir.file('ci.hash'), 'a'.repeat(64))
  writeFileSync(dir.file('a.yaml'), config({ auth, 'rate-limit': { limits }, postprocess: {} }))
  const first = await foldgate(['compile', dir.file('a.yaml'), '--explain'])
  expect(first).toMatchObject({ code: 1, err: '' })
  expect(first.out).toMatch(/^chat +[0-9a-f]{12} +\d+ +auth +1 +\d+ +refused EGRESS_DENIED$/m)
  expect(first.out).toMatch(/^chat +[0-9a-f]{12} +\d+ +postprocess +1 +\d+ +compiled$/m)
  expect(first.out).toMatch(
    /^auth: refused: EGRESS_DENIED: .* at jwt\.jwksUrl \(value id\.example\); try: .*--egress id\.example$/m,
  )
  expect(first.out).toMatch(/^rate-limit: stays in the gateway: .*facts\.peer/m)
  const allowed = ['compile', dir.file('a.yaml'), '--egress', 'id.example']
  const second = await foldgate(allowed)
  expect(second.code).toBe(1)
  expect(second.out).toMatch(/ auth +1 +\d+ +refused UNRESOLVED_REF$/m)
  expect(second.out).not.toContain('try:')
  const third = await foldgate([...allowed, '--secrets-dir', dir.path, '-o', 'json'])
  expect(third.code).toBe(0)
  const { routes, stays } = JSON.parse(third.out) as Compiled
  expect(stays).toMatchObject([{ layer: 'rate-limit' }])
  expect(routes.map(({ route }) => route)).toEqual(['chat', 'completions', 'messages', 'embeddings', 'models'])
  for (const { policy, digest } of routes) expect(policyDigest(policy)).toBe(digest)
})

test('compile says every fault of a configuration that is wrong', async () => {
  await using dir = createTempDir()
  writeFileSync(dir.file('a.yaml'), 'runners: 7\n')
  const { code, out, err } = await foldgate(['compile', dir.file('a.yaml')])
  expect([code, out]).toEqual([1, ''])
  expect(err).toContain('runners (line 1): must be array')
})

test('what compile foresees is what a real runner reports', { timeout: 60_000 }, async () => {
  const layers = {
    auth: { anonymous: true, jwt: auth.jwt },
    'rate-limit': { limits: [{ key_fields: ['tenant'], requests_per_minute: 100 }] },
    cache: {},
    routing: { targets: [{ runner: 'gpu-a', model: 'echo', weight: 1 }] },
    prompt: { templates: { house: { version: '1', text: 'Be brief.' } } },
    postprocess: { pii: { mode: 'redact', types: ['email'] } },
  }
  await using pair = await startFoldedPair({ layers })
  const file = join(pair.base, 'gateway.yaml')
  writeFileSync(file, JSON.stringify(pair.sections))
  const there = await foldgate(['compile', file, '--admin', pair.gateway.adminUrl, '-o', 'json'])
  const here = await foldgate(['compile', file, '-o', 'json'])
  const said = ({ out }: { out: string }) =>
    (JSON.parse(out) as Compiled).routes.map(({ digest, steps }) => ({
      digest,
      steps: steps.map(({ layer, found }) => [
        layer,
        ...found.map((each) => ({ ...each, by: undefined, ms: undefined })),
      ]),
    }))
  expect(said(there)).toEqual(said(here))
  expect([there.code, here.code]).toEqual([1, 1])
  expect(said(here)[0]?.steps).toContainEqual(['auth', expect.objectContaining({ code: 'EGRESS_DENIED' })])
  const shown = await foldgate(['compile', file, '--admin', pair.gateway.adminUrl, '--explain'])
  expect(shown.out).toMatch(/^auth at gpu-a 127\.0\.0\.1:\d+: refused: EGRESS_DENIED: /m)
})

test('a gateway that runs another configuration says nothing about this one: exit code 4', async () => {
  await using pair = await startFoldedPair()
  const file = join(pair.base, 'gateway.yaml')
  writeFileSync(file, JSON.stringify({ ...pair.sections, layers: { postprocess: {} } }))
  const { code, out, err } = await foldgate(['compile', file, '--admin', pair.gateway.adminUrl])
  expect(code).toBe(4)
  expect(out).toMatch(/ postprocess +1 +\d+ +not known$/m)
  expect(err).toContain('runs another configuration: its policy of chat is not this one')
})

test('hosts are allowed by the command as by a runner', () => {
  const urls = [
    'http://a',
    'https://a',
    'https://a:8443/x',
    'http://b:443',
    'https://b',
    'ftp://a',
    'nonsense',
    'https://[::1]:8443',
  ]
  for (const hosts of [[], ['a'], ['b:443'], ['a:8443', 'b'], ['[::1]:8443'], ['a', 'b:80']]) {
    const [own, theirs] = [egressFrom(hosts), createEgress(hosts)]
    expect(urls.filter(own)).toEqual(urls.filter(theirs))
  }
  for (const host of ['a/b', '', 'a:b', 'u@a', 'http://a']) {
    expect(() => egressFrom([host])).toThrow('--egress takes host or host:port')
    expect(() => createEgress([host])).toThrow('host or host:port')
  }
})
