import type { ClusterState } from './api-server.support.ts'
import type { ObjectMeta, PodTemplate, ReplicaSet } from './objects.ts'

const app = { app: 'runner' }

/** A pod template; `newField` is one that no client library knows. */
export function templateOfVersion(version: number): PodTemplate {
  return {
    metadata: { labels: app, annotations: { version: String(version) } },
    spec: { containers: [{ name: 'runner', image: `runner:${version}`, newField: { deep: version } }] },
  }
}

/** A ReplicaSet of a revision, owned by the Deployment `owner`. */
export function replicaSet(revision: number, owner = 'uid-runner'): ReplicaSet {
  const hash = `hash${revision}`
  const labels = { ...app, 'pod-template-hash': hash }
  const { metadata, spec } = templateOfVersion(revision)
  return {
    metadata: {
      ...{ name: `runner-${hash}`, namespace: 'llm', uid: `uid-${hash}`, resourceVersion: '1', labels },
      annotations: {
        'deployment.kubernetes.io/revision': String(revision),
        'deployment.kubernetes.io/desired-replicas': '9',
        'kubernetes.io/change-cause': `version ${revision}`,
      },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'runner', uid: owner, controller: true }],
    },
    spec: { template: { metadata: { ...metadata, labels }, spec } },
  }
}

/** A Deployment `runner` at a revision, with ReplicaSets of revisions; `meta` goes over its metadata. */
export function cluster(
  current = 7,
  kept: readonly number[] = [3, 6, 7],
  meta: Partial<ObjectMeta> = {},
): ClusterState {
  return {
    deployment: {
      metadata: {
        ...{ name: 'runner', namespace: 'llm', uid: 'uid-runner', resourceVersion: '100', generation: 12 },
        annotations: {
          'deployment.kubernetes.io/revision': String(current),
          'kubectl.kubernetes.io/last-applied-configuration': '{}',
          'kubernetes.io/change-cause': `version ${current}`,
        },
        ...meta,
      },
      spec: { selector: { matchLabels: app }, template: templateOfVersion(current) },
      status: { observedGeneration: 12 },
    },
    replicaSets: kept.map((revision) => replicaSet(revision)),
    events: new Map(),
  }
}
