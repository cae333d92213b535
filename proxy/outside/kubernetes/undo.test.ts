import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { failOnLeaks } from '../../../test/support/leaks.ts'
import { freePort } from '../../../test/support/ports.ts'
import { type ApiServer, type ClusterState, startApiServer } from './api-server.support.ts'
import { openKube } from './client.ts'
import { cluster, replicaSet, templateOfVersion } from './cluster.support.ts'
import type { ObjectMeta } from './objects.ts'
import { type Permission, permissionsFrom, undoRules } from './rules.ts'
import { type UndoRequest, undoDeployment } from './undo.ts'

failOnLeaks()
beforeAll(async () => void (await import('@kubernetes/client-node')), 30_000)
afterEach(() => vi.unstubAllEnvs())

const request: UndoRequest = { deployment: 'runner', reason: 'routing failed', actor: 'ana' }
const methods = (api: ApiServer) => api.seen.map(({ verb, path }) => `${verb} ${path.split('/').at(-1)}`)
const reviewed = Array(3).fill('POST selfsubjectaccessreviews')

/** An API server with a Role that is just enough, and what came of an undo there. */
async function undoing(state: ClusterState, change: (api: ApiServer) => void = () => undefined, asked = request) {
  await using api = await startApiServer(state)
  api.rules = undoRules('runner')
  change(api)
  const kube = await openKube({ kubeconfigFile: api.kubeconfig })
  const outcome = await undoDeployment(kube, asked)
  return { api, outcome }
}

describe('undoing a Deployment', () => {
  it('puts the earlier template back whole, and says who asked and why', async () => {
    const { api, outcome } = await undoing(cluster())
    expect(outcome).toEqual({
      done: true,
      dryRun: false,
      from: 7,
      to: 6,
      words: 'Deployment llm/runner goes back from revision 7 to revision 6, asked by ana: routing failed',
    })
    expect(api.state.deployment.spec.template).toEqual(templateOfVersion(6))
    expect(api.state.deployment.metadata.annotations).toEqual({
      'deployment.kubernetes.io/revision': '7',
      'kubectl.kubernetes.io/last-applied-configuration': '{}',
      'kubernetes.io/change-cause': 'version 6',
      'foldgate.dev/rollback-reason': 'routing failed',
      'foldgate.dev/rollback-by': 'ana',
      'foldgate.dev/rolled-back-from': '7',
      'foldgate.dev/rolled-back-to': 'hash6',
    })
  })

  it('is three reviews, a read, a list and one patch that holds for what was read', async () => {
    const { api } = await undoing(cluster())
    expect(methods(api)).toEqual([...reviewed, 'GET runner', 'GET replicasets', 'PATCH runner'])
    expect(api.seen[4]?.query).toEqual({ labelSelector: 'app=runner' })
    expect(api.seen[5]?.query).toEqual({ fieldManager: 'foldgate-rollback' })
    expect(api.seen[5]?.body).toMatchObject([
      { op: 'test', path: '/metadata/resourceVersion', value: '100' },
      { op: 'replace', path: '/spec/template' },
      { op: 'add', path: '/metadata/annotations' },
    ])
    expect(api.wrong).toEqual([])
  })

  it('does not take ReplicaSets of others for its own', async () => {
    const state = cluster(7, [6, 7])
    state.replicaSets[0] = replicaSet(6, 'uid-of-another')
    const { outcome } = await undoing(state)
    expect(outcome).toMatchObject({ done: false, why: 'no-earlier-revision' })
  })

  it('changes nothing in a dry run, and lets the API server judge it', async () => {
    const { api, outcome } = await undoing(cluster(), undefined, { ...request, dryRun: true })
    expect(outcome).toMatchObject({ done: true, dryRun: true, from: 7, to: 6 })
    expect(api.seen.at(-1)?.query).toMatchObject({ dryRun: 'All' })
    expect(api.state.deployment).toEqual(cluster().deployment)
  })

  it('asked twice does not bring the undone revision back', async () => {
    await using api = await startApiServer(cluster())
    api.rules = undoRules('runner')
    const kube = await openKube({ kubeconfigFile: api.kubeconfig })
    await undoDeployment(kube, request)
    const early = await undoDeployment(kube, request)
    api.reconcile()
    const late = await undoDeployment(kube, request)
    expect([early, late]).toMatchObject([{ why: 'unobserved' }, { why: 'already-undone' }])
    expect(api.state.deployment.spec.template).toEqual(templateOfVersion(6))
  })

  it('reads again when only the status moved on in between', async () => {
    let once = true
    const { api, outcome } = await undoing(cluster(), (api) => {
      api.before = ({ verb }) => {
        if (verb === 'PATCH' && once) api.reconcile()
        if (verb === 'PATCH') once = false
      }
    })
    expect(outcome).toMatchObject({ done: true })
    expect(methods(api).filter((each) => each.startsWith('PATCH'))).toHaveLength(2)
  })

  it('leaves alone what somebody else changed at the same time', async () => {
    const { api, outcome } = await undoing(cluster(), (api) => {
      api.before = ({ verb }) => {
        if (verb !== 'PATCH') return
        const { metadata, spec } = api.state.deployment
        const changed = { ...metadata, generation: 13, resourceVersion: '101' }
        api.state.deployment = { metadata: changed, spec: { ...spec, template: templateOfVersion(8) } }
      }
    })
    expect(outcome).toMatchObject({ done: false, why: 'changed' })
    expect(api.state.deployment.spec.template).toEqual(templateOfVersion(8))
  })
})

describe('an undo is refused', () => {
  const refusals: readonly [string, ClusterState, string, RegExp][] = [
    ['while its rollout is paused', paused(), 'paused', /kubectl rollout resume deployment\/runner/],
    ['without an earlier revision', cluster(7, [7]), 'no-earlier-revision', /revision 7 is the only one/],
    ['before the controller has seen the last change', cluster(8, [6, 7]), 'unobserved', /ask again/],
    [
      'for Argo CD by its label',
      owned({ labels: { 'argocd.argoproj.io/instance': 'llm' } }),
      'managed',
      /application "llm"/,
    ],
    [
      'for Argo CD by its tracking annotation',
      owned({ annotations: { 'argocd.argoproj.io/tracking-id': 'shop:apps/Deployment:llm/runner' } }),
      'managed',
      /"argocd app rollback shop"/,
    ],
    [
      'for a Flux kustomization',
      owned({ labels: { 'kustomize.toolkit.fluxcd.io/name': 'apps' } }),
      'managed',
      /flux suspend kustomization apps --namespace flux-system/,
    ],
    [
      'for a Flux release',
      owned({ labels: { 'helm.toolkit.fluxcd.io/name': 'llm', 'helm.toolkit.fluxcd.io/namespace': 'ops' } }),
      'managed',
      /flux suspend helmrelease llm --namespace ops/,
    ],
    [
      'for a Helm release',
      owned({
        labels: { 'app.kubernetes.io/managed-by': 'Helm' },
        annotations: { 'meta.helm.sh/release-name': 'llm', 'meta.helm.sh/release-namespace': 'llm' },
      }),
      'managed',
      /"helm rollback llm --namespace llm"/,
    ],
    [
      'for the controller that made it',
      owned({ ownerReferences: [{ apiVersion: 'x/v1', kind: 'Model', name: 'm', uid: 'u', controller: true }] }),
      'managed',
      /the Model "m" decides over it/,
    ],
  ]

  it.each(refusals)('%s', async (_, state, why, words) => {
    const before = structuredClone(state.deployment)
    const { api, outcome } = await undoing(state)
    expect(outcome).toMatchObject({ done: false, why })
    expect(outcome.words).toMatch(words)
    expect(outcome.words).toMatch(/^Deployment llm\/runner is not undone: /)
    expect(api.state.deployment).toEqual(before)
    expect(methods(api).some((each) => each.startsWith('PATCH'))).toBe(false)
  })

  it('not for the label of Helm alone, which people write by hand', async () => {
    const { outcome } = await undoing(owned({ labels: { 'app.kubernetes.io/managed-by': 'Helm' } }))
    expect(outcome).toMatchObject({ done: true })
  })

  it('where there is no such Deployment', async () => {
    const { outcome } = await undoing(cluster(), (api) => (api.rules = undoRules('other')), {
      ...request,
      deployment: 'other',
    })
    expect(outcome).toMatchObject({ done: false, why: 'not-found' })
  })

  it('with the words of the API server when it rejects the template', async () => {
    const message = 'Deployment.apps "runner" is invalid: spec.template.spec.containers: Required value'
    const { api, outcome } = await undoing(cluster(), (api) => (api.rejects = message))
    expect(outcome).toMatchObject({ done: false, why: 'rejected' })
    expect(outcome.words).toContain(`the API server says 422: ${message}`)
    expect(methods(api).filter((each) => each.startsWith('PATCH'))).toHaveLength(1)
  })

  it('when the API server cannot be reached', async () => {
    const port = await freePort()
    await using api = await startApiServer(cluster())
    vi.stubEnv('KUBERNETES_SERVICE_HOST', '127.0.0.1')
    vi.stubEnv('KUBERNETES_SERVICE_PORT', String(port))
    const kube = await openKube({ kubeconfigFile: null, root: api.podRoot })
    const outcome = await undoDeployment(kube, request)
    expect(outcome).toMatchObject({ done: false, why: 'unreachable' })
    expect(outcome.words).toMatch(/cannot be reached: ECONNREFUSED/)
  })
})

describe('the exported rules', () => {
  const all = permissionsFrom(undoRules('runner'))
  const without = (left: Permission) =>
    all
      .filter((each) => each !== left)
      .map(({ group, resource, verb, name }) => ({
        apiGroups: [group],
        resources: [resource],
        verbs: [verb],
        ...(name ? { resourceNames: [name] } : {}),
      }))

  it('are exactly what the requests ask for', async () => {
    const { api } = await undoing(cluster())
    const asked = api.seen.slice(3).map(({ verb, path }) => `${verb} ${path}`)
    expect(asked).toEqual([
      'GET /apis/apps/v1/namespaces/llm/deployments/runner',
      'GET /apis/apps/v1/namespaces/llm/replicasets',
      'PATCH /apis/apps/v1/namespaces/llm/deployments/runner',
    ])
    expect(all).toHaveLength(3)
  })

  it.each(all)('are each needed: $verb of $resource, which the review finds missing', async (left) => {
    const { api, outcome } = await undoing(cluster(), (api) => (api.rules = without(left)))
    expect(outcome).toMatchObject({ done: false, why: 'forbidden', missing: [left] })
    expect(outcome.words).toContain(`resources: [${left.resource}]`)
    expect(outcome.words).toContain(`verbs: [${left.verb}]`)
    expect(methods(api)).toEqual(reviewed)
  })

  it.each(['yes', 'closed'] as const)('are each needed where reviews say %s', async (reviews) => {
    for (const left of all) {
      const { api, outcome } = await undoing(cluster(), (api) => Object.assign(api, { rules: without(left), reviews }))
      expect(outcome).toMatchObject({ done: false, why: 'forbidden', missing: [left] })
      expect(api.state.deployment).toEqual(cluster().deployment)
    }
  })

  it('do not reach another Deployment', async () => {
    const { outcome } = await undoing(cluster(), (api) => (api.rules = undoRules('another')))
    expect(outcome).toMatchObject({ done: false, why: 'forbidden' })
  })
})

function owned(meta: Partial<ObjectMeta>): ClusterState {
  const { annotations } = cluster().deployment.metadata
  return cluster(7, [3, 6, 7], { ...meta, annotations: { ...annotations, ...meta.annotations } })
}

function paused(): ClusterState {
  const state = cluster()
  return { ...state, deployment: { ...state.deployment, spec: { ...state.deployment.spec, paused: true } } }
}
