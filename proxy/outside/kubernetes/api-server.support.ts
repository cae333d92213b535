import { mkdirSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { applyJsonPatch, type EventDocument, faultOfEvent, type JsonPatch } from './api-checks.support.ts'
import type { Deployment, PodTemplate, ReplicaSet } from './objects.ts'
import { type Permission, type PolicyRule, permissionsFrom } from './rules.ts'

/** A certificate for 127.0.0.1, good for a hundred years, and its key: for tests only. */
export const apiCertificate = `-----BEGIN CERTIFICATE-----
MIIBmzCCAUKgAwIBAgIUSEep4WdGCksc1k4aoKWSTYKNvMswCgYIKoZIzj0EAwIw
GjEYMBYGA1UEAwwPa3ViZXJuZXRlcy50ZXN0MCAXDTI2MTEzMDE3MjEyNloYDzIx
MjYxMTA2MTcyMTI2WjAaMRgwFgYDVQQDDA9rdWJlcm5ldGVzLnRlc3QwWTATBgcq
hkjOPQIBBggqhkjOPQMBBwNCAATUdKfdm0psIV2icCn8pXBJMrG4ffC4Sr+EI7JS
8jRyoMsk5bN/OItrRvWb/wtbd99rcHx5Xgjf+CerCUZ3HkTAo2QwYjAdBgNVHQ4E
FgQUd0GzqD8/XVAnVzfQP03PRqrgHmMwHwYDVR0jBBgwFoAUd0GzqD8/XVAnVzfQ
P03PRqrgHmMwDwYDVR0TAQH/BAUwAwEB/zAPBgNVHREECDAGhwR/AAABMAoGCCqG
SM49BAMCA0cAMEQCIGzCpSAfTuYq9qJFSFk9KVgXJDscv7hb0bRGKXsGJuV6AiAr
Zq/oh60fLMwbIWN0JPwAjL6liTHooRHzbCHi1UDpyw==
-----END CERTIFICATE-----
`
const apiKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg+HoLoLm1/eGSuQPx
eUTtIji11WtFnkLpvQW0Y6IcoeqhRANCAATUdKfdm0psIV2icCn8pXBJMrG4ffC4
Sr+EI7JS8jRyoMsk5bN/OItrRvWb/wtbd99rcHx5Xgjf+CerCUZ3HkTA
-----END PRIVATE KEY-----
`

/** A request as it reached the API server. */
export interface SeenRequest {
  readonly verb: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly headers: IncomingMessage['headers']
  readonly body: unknown
}

/** The objects of one namespace. */
export interface ClusterState {
  deployment: Deployment
  replicaSets: ReplicaSet[]
  events: Map<string, EventDocument>
}

/** A Kubernetes API server of the test's own, over TLS: one namespace, one service account, and the rules of its Role. */
export interface ApiServer extends AsyncDisposable {
  readonly url: string
  readonly port: number
  readonly state: ClusterState
  /** Every request, oldest first. */
  readonly seen: SeenRequest[]
  /** Requests that no real API server would take; tests expect none. */
  readonly wrong: string[]
  /** The Role. Change it at any time. */
  rules: readonly PolicyRule[]
  /** `honest`: as the rules are. `yes`: everything is said to be allowed. `closed`: the question is refused. */
  reviews: 'honest' | 'yes' | 'closed'
  /** Called, and waited for, before a request is answered. */
  before: (request: SeenRequest) => void | Promise<void>
  /** What a patch of the Deployment is refused with; undefined: it is not. */
  rejects: string | undefined
  token: string
  /** Does what the Deployment controller does. */
  reconcile(): void
  /** A service account's files under a root, as a pod has them; the root. */
  readonly podRoot: string
  /** A kubeconfig's path. */
  readonly kubeconfig: string
}

/** The namespace that the API server has. */
export const namespace = 'llm'

/** Starts an API server with a state. */
export async function startApiServer(state: ClusterState): Promise<ApiServer> {
  const dir = createTempDir()
  const seen: SeenRequest[] = []
  const wrong: string[] = []
  const server = createServer({ cert: apiCertificate, key: apiKey }, async (incoming, response) => {
    const request = await requestFrom(incoming)
    seen.push(request)
    await api.before(request)
    const { status, body } = answer(api, request)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  const url = `https://127.0.0.1:${port}`
  const api: ApiServer = {
    ...{
      url,
      port,
      state,
      seen,
      wrong,
      rules: [],
      reviews: 'honest',
      before: () => undefined,
      token: 'the-token',
      rejects: undefined,
    },
    reconcile: () => reconcile(state),
    podRoot: podFiles(dir.path),
    kubeconfig: kubeconfigFile(dir.file('kubeconfig'), url),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
      await dir[Symbol.asyncDispose]()
    },
  }
  return api
}

function podFiles(root: string): string {
  const place = join(root, 'var/run/secrets/kubernetes.io/serviceaccount')
  mkdirSync(place, { recursive: true })
  writeFileSync(join(place, 'ca.crt'), apiCertificate)
  writeFileSync(join(place, 'token'), 'the-token')
  writeFileSync(join(place, 'namespace'), namespace)
  return root
}

function kubeconfigFile(path: string, server: string): string {
  const data = Buffer.from(apiCertificate).toString('base64')
  const text = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'here',
    clusters: [{ name: 'c', cluster: { server, 'certificate-authority-data': data } }],
    users: [{ name: 'u', user: { token: 'the-token' } }],
    contexts: [{ name: 'here', context: { cluster: 'c', user: 'u', namespace } }],
  }
  writeFileSync(path, JSON.stringify(text))
  return path
}

async function requestFrom(incoming: IncomingMessage): Promise<SeenRequest> {
  let text = ''
  for await (const part of incoming) text += part
  const url = new URL(incoming.url ?? '/', 'https://api')
  return {
    verb: incoming.method ?? '',
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    headers: incoming.headers,
    body: text === '' ? undefined : JSON.parse(text),
  }
}

interface Answer {
  readonly status: number
  readonly body: unknown
}

const failure = (code: number, message: string): Answer => ({
  status: code,
  body: { kind: 'Status', apiVersion: 'v1', status: 'Failure', message, code },
})

function answer(api: ApiServer, request: SeenRequest): Answer {
  if (request.headers.authorization !== `Bearer ${api.token}`) return failure(401, 'Unauthorized')
  if (request.path === '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews') return review(api, request)
  const asked = permissionOf(request)
  if (asked === undefined) {
    api.wrong.push(`${request.verb} ${request.path}`)
    return failure(404, 'the server could not find the requested resource')
  }
  if (!isAllowed(api.rules, asked)) return failure(403, `cannot ${asked.verb} resource "${asked.resource}"`)
  if (asked.resource === 'replicasets') return listReplicaSets(api, request)
  return asked.resource === 'events' ? eventAnswer(api, request, asked) : deploymentAnswer(api, request, asked)
}

function permissionOf({ verb, path }: SeenRequest): Permission | undefined {
  const found = /^\/apis\/([a-z0-9.]+)\/v1\/namespaces\/llm\/([a-z]+)(?:\/([^/]+))?$/.exec(path)
  if (!found) return undefined
  const [, group = '', resource = '', name] = found
  const does = { GET: name ? 'get' : 'list', POST: 'create', PATCH: 'patch' }[verb]
  const known = { apps: ['deployments', 'replicasets'], 'events.k8s.io': ['events'] }[group]?.includes(resource)
  return does && known
    ? { group, resource, verb: does, ...(name ? { name: decodeURIComponent(name) } : {}) }
    : undefined
}

function isAllowed(rules: readonly PolicyRule[], asked: Permission): boolean {
  return permissionsFrom(rules).some(
    ({ group, resource, verb, name }) =>
      group === asked.group && resource === asked.resource && verb === asked.verb && (!name || name === asked.name),
  )
}

function review(api: ApiServer, { verb, body, headers }: SeenRequest): Answer {
  if (api.reviews === 'closed') return failure(403, 'selfsubjectaccessreviews is forbidden')
  const { kind, spec } = body as { kind: string; spec: { resourceAttributes: Permission & { namespace: string } } }
  const { namespace: where, ...asked } = spec.resourceAttributes
  const isRight = verb === 'POST' && kind === 'SelfSubjectAccessReview' && where === namespace
  if (!isRight || headers['content-type'] !== 'application/json') api.wrong.push(JSON.stringify(body))
  return {
    status: 201,
    body: { kind, spec, status: { allowed: api.reviews === 'yes' || isAllowed(api.rules, asked) } },
  }
}

function deploymentAnswer(
  { state, wrong, rejects }: ApiServer,
  request: SeenRequest,
  { verb, name }: Permission,
): Answer {
  if (name !== state.deployment.metadata.name) return failure(404, `deployments.apps "${name}" not found`)
  if (verb === 'get') return { status: 200, body: state.deployment }
  if (request.headers['content-type'] !== 'application/json-patch+json') wrong.push('not a JSON patch')
  if (!request.query['fieldManager']) wrong.push('no field manager')
  if (rejects !== undefined) return failure(422, rejects)
  const next = applyJsonPatch(state.deployment, request.body as JsonPatch)
  if (next === undefined) return failure(422, 'the server rejected our request due to an error in our request')
  const { metadata, spec } = next as Deployment
  const isNew = !isDeepStrictEqual(spec, state.deployment.spec)
  const bumped = {
    ...(next as Deployment),
    metadata: {
      ...metadata,
      resourceVersion: String(Number(metadata.resourceVersion) + 1),
      generation: (metadata.generation ?? 0) + Number(isNew),
    },
  }
  if (request.query['dryRun'] === undefined) state.deployment = bumped
  return { status: 200, body: bumped }
}

function listReplicaSets({ state }: ApiServer, { query }: SeenRequest): Answer {
  const wanted = (query['labelSelector'] ?? '').split(',').map((pair) => pair.split('='))
  const items = state.replicaSets.filter(({ metadata }) =>
    wanted.every(([key = '', value]) => metadata.labels?.[key] === value),
  )
  return { status: 200, body: { kind: 'ReplicaSetList', apiVersion: 'apps/v1', items } }
}

function eventAnswer({ state, wrong }: ApiServer, request: SeenRequest, { verb, name }: Permission): Answer {
  const body = request.body as EventDocument
  if (verb === 'create') {
    const fault = faultOfEvent(body, namespace)
    if (fault) wrong.push(fault)
    if (fault) return failure(422, fault)
    if (state.events.has(body.metadata.name)) return failure(409, 'already exists')
    state.events.set(body.metadata.name, body)
    return { status: 201, body }
  }
  const there = state.events.get(name ?? '')
  if (!there) return failure(404, `events.events.k8s.io "${name}" not found`)
  const next = { ...there, ...body }
  const isMerge = request.headers['content-type'] === 'application/merge-patch+json'
  // Nothing of an Event but its series may change.
  const fault = isMerge && isDeepStrictEqual(Object.keys(body), ['series']) ? faultOfEvent(next, namespace) : 'no'
  if (fault) wrong.push(`patch of an event: ${fault}`)
  state.events.set(name ?? '', next)
  return { status: 200, body: next }
}

/** Finds or makes the ReplicaSet of the template, numbers it as the newest, and says what it has seen. */
function reconcile(state: ClusterState): void {
  const { metadata, spec } = state.deployment
  const revisionOf = (set: ReplicaSet) => Number(set.metadata.annotations?.['deployment.kubernetes.io/revision'])
  const bare = ({ metadata: { labels = {}, ...rest } = {}, ...others }: PodTemplate) => {
    const { 'pod-template-hash': _hash, ...kept } = labels
    return { ...others, metadata: { ...rest, labels: kept } }
  }
  const set = state.replicaSets.find((each) => isDeepStrictEqual(bare(each.spec.template), bare(spec.template)))
  const newest = Math.max(...state.replicaSets.map(revisionOf))
  if (!set) throw new Error('the controller would have to make a ReplicaSet')
  const revision = String(revisionOf(set) === newest ? newest : newest + 1)
  const number = { 'deployment.kubernetes.io/revision': revision }
  const at = state.replicaSets.indexOf(set)
  state.replicaSets[at] = {
    ...set,
    metadata: { ...set.metadata, annotations: { ...set.metadata.annotations, ...number } },
  }
  state.deployment = {
    ...state.deployment,
    metadata: {
      ...metadata,
      resourceVersion: String(Number(metadata.resourceVersion) + 1),
      annotations: { ...metadata.annotations, ...number },
    },
    status: { observedGeneration: metadata.generation ?? 0 },
  }
}
