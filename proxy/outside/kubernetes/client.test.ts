import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeAll, expect, it, vi } from 'vitest'
import { failOnLeaks } from '../../../test/support/leaks.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { startApiServer } from './api-server.support.ts'
import { openKube } from './client.ts'
import { cluster } from './cluster.support.ts'

failOnLeaks()
beforeAll(async () => void (await import('@kubernetes/client-node')), 30_000)
afterEach(() => vi.unstubAllEnvs())

const path = '/apis/apps/v1/namespaces/llm/deployments/runner'
const readRule = { apiGroups: ['apps'], resources: ['deployments'], verbs: ['get'] }

/** Environment and files as a pod of this API server has them. */
function inPod(port: number): void {
  vi.stubEnv('KUBERNETES_SERVICE_HOST', '127.0.0.1')
  vi.stubEnv('KUBERNETES_SERVICE_PORT', String(port))
}

it('in a pod the service account says where, who and in which namespace', async () => {
  await using api = await startApiServer(cluster())
  api.rules = [readRule]
  inPod(api.port)
  const kube = await openKube({ kubeconfigFile: null, root: api.podRoot })
  const answer = await kube.send({ method: 'GET', path })
  expect([kube.namespace, answer.status, answer.body]).toEqual(['llm', 200, cluster().deployment])
  expect(api.seen[0]?.headers).toMatchObject({ authorization: 'Bearer the-token', accept: 'application/json' })
})

it('a kubeconfig says the same, with a token of its own', async () => {
  await using api = await startApiServer(cluster())
  api.rules = [readRule]
  const kube = await openKube({ kubeconfigFile: api.kubeconfig })
  expect([kube.namespace, (await kube.send({ method: 'GET', path })).status]).toEqual(['llm', 200])
})

it('a wrong token is an answer', async () => {
  await using api = await startApiServer(cluster())
  api.token = 'another'
  const kube = await openKube({ kubeconfigFile: api.kubeconfig })
  expect((await kube.send({ method: 'GET', path })).status).toBe(401)
})

it('a server that the authority did not sign is not talked to', async () => {
  await using api = await startApiServer(cluster())
  const file = join(api.podRoot, 'strangers')
  const stranger = {
    clusters: [{ name: 'c', cluster: { server: api.url } }],
    users: [{ name: 'u', user: { token: 't' } }],
  }
  const contexts = [{ name: 'x', context: { cluster: 'c', user: 'u' } }]
  writeFileSync(file, JSON.stringify({ ...stranger, contexts, 'current-context': 'x' }))
  const kube = await openKube({ kubeconfigFile: file })
  await expect(kube.send({ method: 'GET', path })).rejects.toMatchObject({ code: 'runner_unreachable' })
  expect([kube.namespace, api.seen]).toEqual(['default', []])
})

it('an API server that hangs is given up', async () => {
  await using api = await startApiServer(cluster())
  api.before = () => new Promise(() => undefined)
  const kube = await openKube({ kubeconfigFile: api.kubeconfig, timeoutMs: 300 })
  await expect(kube.send({ method: 'GET', path })).rejects.toMatchObject({ code: 'runner_timeout' })
})

it('outside a pod and without a kubeconfig there is no cluster', async () => {
  vi.stubEnv('KUBERNETES_SERVICE_HOST', undefined)
  await expect(openKube({ kubeconfigFile: null })).rejects.toMatchObject({ code: 'config_invalid' })
})

it('a kubeconfig that is none is a fault of the configuration', async () => {
  await using dir = createTempDir()
  writeFileSync(dir.file('config'), '{{{')
  await expect(openKube({ kubeconfigFile: dir.file('config') })).rejects.toMatchObject({ code: 'config_invalid' })
  await expect(openKube({ kubeconfigFile: dir.file('absent') })).rejects.toMatchObject({ code: 'config_invalid' })
})
