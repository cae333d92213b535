import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { createApiKey } from '../../plugins/auth/api-key.ts'
import { foldgate } from '../../proxy/cli/test-command.ts'
import type { ConsumersView } from '../../proxy/consumers.ts'
import { failOnLeaks } from '../support/leaks.ts'
import { allNative, startFoldingRig } from './folding-rig.ts'

failOnLeaks()

const key = createApiKey().key
const hash = createHash('sha256').update(key).digest('hex')
const layers = { auth: { apiKeys: [{ id: 'dash', hash, tenant: 't1', tier: 'free', scopes: ['old'] }] } }
const config = { access: { deprecatedScope: 'old' } }

it('who asks for old headers stands in the table, with the layers here or at the runner, and nothing that was said', async () => {
  await using rig = await startFoldingRig({ stages: allNative, layers, config })
  const headers = {
    authorization: `Bearer ${key}`,
    'user-agent': 'Grafana/11.2 (secret comment)',
    'x-deprecated-layers': 'cache-hit',
  }
  const content = 'a very private prompt'
  for (let n = 0; n < 2; n++) await (await rig.chat({ messages: [{ role: 'user', content }] }, headers)).text()
  await (await rig.chat({}, { authorization: `Bearer ${key}` })).text()
  await (await rig.chat({}, { 'x-deprecated-layers': 'cache-hit', authorization: 'Bearer nobody' })).text()
  const response = await fetch(`${rig.gateway.adminUrl}/-/consumers`)
  const text = await response.text()
  const view = JSON.parse(text) as ConsumersView
  expect(view).toEqual({
    consumers: [
      {
        tenant: 't1',
        client: 'dash',
        agent: 'grafana',
        headers: ['cache-hit'],
        firstSeen: expect.any(Number),
        lastSeen: expect.any(Number),
        count: 2,
        warned: 0,
        shed: 0,
        tier: 'current',
      },
    ],
    capacity: 1_000,
    forgotten: 0,
  })
  expect(text).not.toMatch(/private|secret|fg_/)
  const metrics = await (await fetch(`${rig.gateway.adminUrl}/metrics`)).text()
  expect(metrics).not.toMatch(/dash|grafana/)
})

it('doctor names who asks for old headers, and the runner processes, of a running gateway', async () => {
  await using rig = await startFoldingRig({ stages: { postprocess: 'native' }, layers, config })
  const asked = { authorization: `Bearer ${key}`, 'x-deprecated-layers': 'cache-hit', 'user-agent': 'old/1' }
  await (await rig.chat({}, asked)).text()
  const { out } = await foldgate(['doctor', '--admin', rig.gateway.adminUrl])
  expect(out).toMatch(
    /^! old headers at .*: dash of t1 \(old\) asks for cache-hit: 1 calls, the last \ds ago \(current\)$/m,
  )
  expect(out).toMatch(/^✓ process 127\.0\.0\.1:\d+ of runner a: is foldgate-native\/\S+ and executes auth v1, /m)
})
