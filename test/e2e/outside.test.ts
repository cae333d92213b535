import { rmSync, writeFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import type { ApiServer } from '../../proxy/outside/kubernetes/api-server.support.ts'
import { startApiServer } from '../../proxy/outside/kubernetes/api-server.support.ts'
import { cluster } from '../../proxy/outside/kubernetes/cluster.support.ts'
import { rulesFrom } from '../../proxy/outside/kubernetes/rules.ts'
import { isSignedBy } from '../../proxy/outside/notify/signed-json.ts'
import { until } from '../support/gate.ts'
import { json } from '../support/reply.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { startUpstream } from '../support/upstream.ts'
import { type FoldingRig, layerStates, startFoldingRig } from './folding-rig.ts'

const native = { postprocess: 'native' } as const
const stageOf = ({ gateway }: FoldingRig, layer = 'postprocess'): string => gateway.setup().folding.stageOf(layer).stage
const stageIs = (rig: FoldingRig, stage: string) =>
  until(
    () => stageOf(rig) === stage,
    () => `postprocess is ${stage}; it is ${stageOf(rig)}`,
  )
const askRollback = ({ gateway }: FoldingRig, body: object): Promise<Response> =>
  fetch(`${gateway.adminUrl}/-/rollback`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-foldgate-actor': 'mia' },
    body: JSON.stringify(body),
  })

describe('the panic file', () => {
  it('brings every layer back, callers notice nothing, and nothing leaves until it is gone', async () => {
    await using dir = createTempDir()
    const panicFile = dir.file('panic')
    await using rig = await startFoldingRig({ stages: native, config: { folding: { panicFile } } })
    expect(layerStates(await rig.chat())['postprocess']).toBe('evaporation-complete;by=runner')
    writeFileSync(panicFile, 'the runner lies')
    await stageIs(rig, 'rolled-back')
    const answer = await rig.chat({ messages: [{ role: 'user', content: 'afterwards' }] })
    expect([answer.status, layerStates(answer)['postprocess']]).toEqual([200, 'active;by=gateway'])
    const refused = await rig.move('postprocess', 'shadow')
    expect([refused.status, await refused.text()]).toEqual([409, expect.stringContaining('the runner lies')])
    const status = (await (await fetch(`${rig.gateway.adminUrl}/-/status`)).json()) as { problems: string[] }
    expect(status.problems).toContain('no layer leaves the gateway: the panic file is there: the runner lies')
    rmSync(panicFile)
    await until(
      () => rig.gateway.lines.some(({ msg }) => String(msg).startsWith('the panic file is gone')),
      () => 'the file is seen to be gone',
    )
    expect(stageOf(rig)).toBe('rolled-back')
    expect((await rig.move('postprocess', 'shadow')).status).toBe(200)
  })

  it('that is there at the start keeps every layer in the gateway from the first call on', async () => {
    await using dir = createTempDir()
    writeFileSync(dir.file('panic'), '')
    const config = { folding: { panicFile: dir.file('panic') } }
    await using rig = await startFoldingRig({ stages: native, config })
    expect(layerStates(await rig.chat())['postprocess']).toBe('active;by=gateway')
  })
})

describe('a signal', () => {
  it('brings every layer back, and layers may leave again at once', async () => {
    await using rig = await startFoldingRig({ stages: native })
    await rig.gateway.panic('SIGUSR2')
    const answer = await rig.chat()
    expect([answer.status, layerStates(answer)['postprocess']]).toEqual([200, 'active;by=gateway'])
    expect((await rig.move('postprocess', 'shadow')).status).toBe(200)
  })
})

describe('a webhook', () => {
  it('hears of a rollback, signed', async () => {
    await using dir = createTempDir()
    const secret = 'a-webhook-secret-of-more-than-thirty-two-bytes'
    writeFileSync(dir.file('hook-secret'), `${secret}\n`)
    await using hook = await startUpstream(json({}))
    const target = { name: 'hook', shape: 'json', url: `${hook.url}/foldgate`, secretFile: dir.file('hook-secret') }
    const notify = [{ ...target, on: ['rolled-back'] }]
    await using rig = await startFoldingRig({ stages: native, config: { folding: { notify } } })
    await rig.move('postprocess', 'rollback')
    const { headers, body } = await hook.request(0)
    const text = body.toString()
    expect(JSON.parse(text)).toMatchObject({
      ...{ kind: 'rolled-back', layer: 'postprocess', from: 'native', to: 'rolled-back', reason: 'a test' },
    })
    const signed = { id: String(headers['webhook-id']), timestamp: Number(headers['webhook-timestamp']), body: text }
    expect(isSignedBy(String(headers['webhook-signature']), signed, Buffer.from(secret))).toBe(true)
  })
})

describe('the Kubernetes cluster', () => {
  beforeAll(async () => void (await import('@kubernetes/client-node')), 30_000)

  async function inCluster(given: object, use: (rig: FoldingRig, api: ApiServer) => Promise<void>): Promise<ApiServer> {
    await using api = await startApiServer(cluster())
    const on = { events: true, rollback: false, deployment: 'runner', ...given }
    api.rules = rulesFrom(on)
    const kubernetes = { ...on, kubeconfigFile: api.kubeconfig }
    await using rig = await startFoldingRig({ stages: native, config: { folding: { kubernetes } } })
    await use(rig, api)
    expect(api.wrong).toEqual([])
    return api
  }
  const eventsOf = ({ state }: ApiServer) => [...state.events.values()].map(({ reason }) => reason)

  it('has an Event of every rollback, and its Deployment is left alone', async () => {
    const api = await inCluster({}, async (rig, { state }) => {
      await rig.move('postprocess', 'rollback')
      await until(
        () => [...state.events.values()].some(({ reason }) => reason === 'LayerRolledBack'),
        () => 'an Event is there',
      )
      expect(await (await askRollback(rig, { reason: 'incident 7', kubernetes: true })).json()).toMatchObject({
        kubernetes: { done: false, words: 'no Deployment is undone: folding.kubernetes.rollback is off' },
      })
    })
    expect(api.seen.filter(({ path, verb }) => verb === 'PATCH' && path.includes('/deployments/'))).toEqual([])
  })

  it('has the Deployment undone where that is on and asked for, after the layers are back', async () => {
    const api = await inCluster({ rollback: true }, async (rig, { state }) => {
      const plain = (await (await askRollback(rig, { reason: 'incident 6' })).json()) as object
      expect(plain).not.toHaveProperty('kubernetes')
      expect(state.deployment.metadata.resourceVersion).toBe('100')
      const answer = await askRollback(rig, { reason: 'incident 7', kubernetes: true })
      expect(await answer.json()).toMatchObject({
        kubernetes: {
          done: true,
          words: expect.stringMatching(/from revision 7 to revision 6, asked by mia: incident 7$/),
        },
      })
      expect(stageOf(rig)).toBe('rolled-back')
      await until(
        () => [...state.events.values()].some(({ reason }) => reason === 'DeploymentUndone'),
        () => 'an Event is there',
      )
    })
    expect(eventsOf(api)).toContain('DeploymentUndone')
  })
})
