import { isDeepStrictEqual } from 'node:util'
import type { Deployment, PodTemplate, ReplicaSet } from './objects.ts'

/** The annotation that the Deployment controller numbers revisions by. */
export const revisionAnnotation = 'deployment.kubernetes.io/revision'

/** The label that the Deployment controller tells ReplicaSets apart by; it belongs to them and not to the template. */
export const templateHashLabel = 'pod-template-hash'

/** Annotation: the hash of the template that Foldgate went back to, so that going back twice does not go forward again. */
export const wentBackToAnnotation = 'foldgate.dev/rolled-back-to'

/** The revision that a Deployment is at, and the one before it. */
export interface Revisions {
  readonly current: number
  readonly earlier: number
  readonly earlierSet: ReplicaSet
}

/** Why a Deployment has no revision to go back to. */
export interface NoRevision {
  readonly why: 'unobserved' | 'already-undone' | 'no-earlier-revision'
  readonly words: string
}

/** The revision before the one that runs, from a Deployment and the ReplicaSets that its selector finds. */
export function revisionsOf(deployment: Deployment, found: readonly ReplicaSet[]): Revisions | NoRevision {
  const { metadata, status } = deployment
  const current = numberOf(metadata.annotations?.[revisionAnnotation])
  const owned = found
    .filter(({ metadata: { ownerReferences = [] } }) =>
      ownerReferences.some(({ uid, controller }) => controller === true && uid === metadata.uid),
    )
    .map((set) => ({ set, revision: numberOf(set.metadata.annotations?.[revisionAnnotation]) }))
    .filter(({ revision }) => revision > 0)
    .sort((a, b) => b.revision - a.revision)
  const running = owned.find(({ revision }) => revision === current)
  if (running === undefined || (status?.observedGeneration ?? 0) < (metadata.generation ?? 0)) {
    return { why: 'unobserved', words: 'its last change has not been seen by the Deployment controller yet; ask again' }
  }
  const hash = running.set.metadata.labels?.[templateHashLabel]
  if (hash !== undefined && metadata.annotations?.[wentBackToAnnotation] === hash) {
    const words = `revision ${current} is what Foldgate went back to; going back again would bring the undone one back`
    return { why: 'already-undone', words }
  }
  const earlier = owned.find(({ revision }) => revision < current)
  if (earlier === undefined) {
    return { why: 'no-earlier-revision', words: `revision ${current} is the only one that is kept` }
  }
  if (isDeepStrictEqual(templateOf(earlier.set), withoutHash(deployment.spec.template))) {
    return { why: 'no-earlier-revision', words: `revision ${earlier.revision} is the same as revision ${current}` }
  }
  return { current, earlier: earlier.revision, earlierSet: earlier.set }
}

/** The pod template of a ReplicaSet as its Deployment had it, whole. */
export function templateOf({ spec }: ReplicaSet): PodTemplate {
  return withoutHash(spec.template)
}

function withoutHash(template: PodTemplate): PodTemplate {
  const { [templateHashLabel]: _hash, ...labels } = template.metadata?.labels ?? {}
  return { ...template, metadata: { ...template.metadata, labels } }
}

function numberOf(text: string | undefined): number {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : 0
}

/** Annotations that stay a Deployment's own when it takes over those of a ReplicaSet, as `kubectl rollout undo` has them. */
const ownAnnotations: readonly string[] = [
  'kubectl.kubernetes.io/last-applied-configuration',
  'deprecated.deployment.rollback.to',
  revisionAnnotation,
  'deployment.kubernetes.io/revision-history',
  'deployment.kubernetes.io/desired-replicas',
  'deployment.kubernetes.io/max-replicas',
]

/** The annotations of a Deployment that goes back to a ReplicaSet: its own, else the ReplicaSet's (such as the cause of change). */
export function annotationsOf(deployment: Deployment, set: ReplicaSet): Record<string, string> {
  const entries = (from: Deployment | ReplicaSet, own: boolean): (readonly [string, string])[] =>
    Object.entries(from.metadata.annotations ?? {}).filter(([name]) => ownAnnotations.includes(name) === own)
  return Object.fromEntries([...entries(set, false), ...entries(deployment, true)])
}
