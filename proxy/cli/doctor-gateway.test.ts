import { expect, test } from 'vitest'
import type { LayerProcessView, LayerView } from '../admin/layer-view.ts'
import type { RunnerProcessView, RunnerView } from '../admin/runner-view.ts'
import type { Consumer } from '../consumers.ts'
import type { Finding } from './finding.ts'
import { foldgate, startFakeGateway } from './test-command.ts'

const address = '10.0.0.7:8000'
const process: RunnerProcessView = {
  address,
  reachable: true,
  boot: 'b_1',
  runner: 'foldgate-native/0.1.0',
  layers: { auth: 1, cache: 1 },
  underWay: 0,
}
const runnerOf = (processes: readonly RunnerProcessView[]): RunnerView => ({
  name: 'gpu-a',
  kind: 'native',
  url: 'http://10.0.0.7:8000',
  available: true,
  outstandingTokens: 0,
  processes,
})
const layerOf = (name: string, over: Partial<LayerView>, here: Partial<LayerProcessView>): LayerView => ({
  name,
  on: true,
  stage: 'gateway',
  weight: 0,
  held: false,
  where: 'gateway',
  status: 'active',
  routes: ['chat'],
  policies: [],
  processes: [{ runner: 'gpu-a', address, able: true, ...here }],
  ...over,
})

/** What doctor says of a gateway with these runners and layers. */
async function examine(runners: RunnerView[], layers: readonly LayerView[], consumers: readonly Consumer[] = []) {
  const { url, gateway } = await startFakeGateway()
  Object.assign(gateway, { runners, layers, consumers })
  const { code, out } = await foldgate(['doctor', '--admin', url, '-o', 'json'])
  return { code, findings: JSON.parse(out) as Finding[] }
}

const about = (findings: readonly Finding[], check: RegExp) => findings.filter((each) => check.test(each.check))

test('a process that was reached is said with what it executes', async () => {
  const { code, findings } = await examine([runnerOf([process])], [layerOf('auth', {}, {})])
  expect(about(findings, /^process/)).toEqual([
    {
      check: `process ${address} of runner gpu-a`,
      result: 'ok',
      note: 'is foldgate-native/0.1.0 and executes auth v1, cache v1',
    },
  ])
  expect(code).toBe(0)
})

test('a process that was not reached fails, with why', async () => {
  const lost = { address, reachable: false, why: 'connect ECONNREFUSED', underWay: 0 }
  const { code, findings } = await examine([runnerOf([lost])], [])
  expect(about(findings, /^process/)).toMatchObject([
    { result: 'failed', note: 'was not reached by the gateway: connect ECONNREFUSED' },
  ])
  expect(code).toBe(1)
})

test('a signing key that the runner does not know is said once for all layers', async () => {
  const why = 'the runner does not know the signing key k1; it knows k0'
  const here = { able: false, reason: 'signature', why } as const
  const layers = [layerOf('auth', {}, here), layerOf('cache', {}, here)]
  const { code, findings } = await examine([runnerOf([process])], layers)
  expect(about(findings, /^process/).slice(1)).toEqual([
    {
      check: `process ${address} of runner gpu-a`,
      result: 'warn',
      note: `cannot act there: auth, cache: ${why}`,
      next: expect.stringContaining('--key KID=FILE'),
    },
  ])
  expect(code).toBe(0)
})

test('a layer that is out and cannot act there fails; clocks that differ are named', async () => {
  const here = { able: false, reason: 'expired', why: 'the runner refused a context: expired' } as const
  const { code, findings } = await examine([runnerOf([process])], [layerOf('cache', { stage: 'native' }, here)])
  expect(about(findings, /^process/).slice(1)).toMatchObject([
    { result: 'failed', next: expect.stringContaining('NTP') },
  ])
  expect(code).toBe(1)
})

const consumer: Consumer = {
  tenant: 't1',
  client: 'one',
  agent: 'openai-python',
  headers: ['cache-hit'],
  firstSeen: 0,
  lastSeen: Date.now() - 7_200_000,
  count: 12,
  warned: 3,
  shed: 2,
  tier: 'last',
}

test('who still asks for old headers is named, the first five of them', async () => {
  const consumers = Array.from({ length: 7 }, (_, index) => ({ ...consumer, client: `c${index}` }))
  const { code, findings } = await examine([], [], consumers)
  const old = about(findings, /^old headers/)
  expect(old).toHaveLength(6)
  expect(old[0]).toMatchObject({
    result: 'warn',
    note: 'c0 of t1 (openai-python) asks for cache-hit: 12 calls, 2 of them turned away, the last 2h ago (last)',
  })
  expect(old[5]?.note).toBe('and 2 more ask for them')
  expect(code).toBe(0)
})

test('that nobody asks for old headers is said', async () => {
  const { findings } = await examine([], [])
  expect(about(findings, /^old headers/)).toMatchObject([{ result: 'ok' }])
})
