import { GatewayError } from '../../../plugins/errors.ts'
import { missingPermissions } from './access.ts'
import type { Kube, KubeAnswer } from './client.ts'
import { type Deployment, labelSelectorFrom, type ReplicaSet } from './objects.ts'
import { managerOf } from './ownership.ts'
import {
  annotationsOf,
  type Revisions,
  revisionsOf,
  templateHashLabel,
  templateOf,
  wentBackToAnnotation,
} from './revisions.ts'
import { type Permission, sayPermission, undoRules } from './rules.ts'

/** What is to be undone, why, and who asks. */
export interface UndoRequest {
  readonly deployment: string
  /** Default: the cluster's own default, see {@link Kube.namespace}. */
  readonly namespace?: string | null
  readonly reason: string
  readonly actor: string
  /** Let the API server judge it without doing it (`dryRun=All`); default false. */
  readonly dryRun?: boolean
}

/** Why an undo did not happen. */
export type UndoRefusal =
  | 'forbidden'
  | 'managed'
  | 'paused'
  | 'no-earlier-revision'
  | 'already-undone'
  | 'unobserved'
  | 'changed'
  | 'not-found'
  | 'rejected'
  | 'unreachable'

/** What came of it. `words` is a whole sentence for people. */
export type UndoOutcome =
  | {
      readonly done: true
      readonly dryRun: boolean
      readonly from: number
      readonly to: number
      readonly words: string
    }
  | {
      readonly done: false
      readonly why: UndoRefusal
      readonly words: string
      /** For `forbidden`: what the Role lacks. */
      readonly missing?: readonly Permission[]
    }

/** How often a change of the status in between is answered by reading again. */
const tries = 4

/**
 * Goes back to the revision before, as `kubectl rollout undo` does: reads the Deployment and its ReplicaSets, and replaces template
 * and annotations by one JSON patch (RFC 6902). A merge patch would leave behind what the earlier template does not have. The patch
 * holds only while the object is as it was read. Never throws; what keeps it from happening is said in words.
 */
export async function undoDeployment(kube: Kube, request: UndoRequest): Promise<UndoOutcome> {
  const namespace = request.namespace ?? kube.namespace
  const told = { ...request, namespace }
  try {
    const missing = await missingPermissions(kube, namespace, undoRules(request.deployment))
    return missing.length > 0 ? forbidden(told, missing) : await attempt(kube, told)
  } catch (reason) {
    if (reason instanceof GatewayError) return refused(told, 'unreachable', reason.message)
    throw reason
  }
}

type Told = UndoRequest & { readonly namespace: string }

async function attempt(kube: Kube, told: Told): Promise<UndoOutcome> {
  let generation: number | undefined
  for (let left = tries; left > 0; left--) {
    const read = await readDeployment(kube, told)
    if ('done' in read) return read
    // Only the status may have moved on: of a new spec nobody has said that it is to be undone.
    if (generation !== undefined && read.metadata.generation !== generation)
      return refused(told, 'changed', 'somebody changed it at the same time; look at it, and ask again')
    generation = read.metadata.generation
    const refusal = whyNot(read, told)
    if (refusal) return refusal
    const sets = await readSets(kube, told, read)
    if ('done' in sets) return sets
    const revisions = revisionsOf(read, sets)
    if ('why' in revisions) return refused(told, revisions.why, revisions.words)
    const answer = await patch(kube, told, { deployment: read, revisions })
    if (answer.status === 200) return success(told, revisions)
    if (answer.status !== 409 && answer.status !== 422) return fault(told, answer, 'patch')
    if (answer.status === 422 && (await isUntouched(kube, told, read))) return fault(told, answer, 'patch')
  }
  return refused(told, 'changed', `it changed while it was read, ${tries} times; ask again`)
}

function whyNot({ metadata, spec }: Deployment, told: Told): UndoOutcome | undefined {
  const manager = managerOf(metadata)
  if (manager)
    return refused(told, 'managed', `${manager.who} decides over it and would take that back; ${manager.instead}`)
  if (spec.paused !== true) return undefined
  return refused(
    told,
    'paused',
    `its rollout is paused; run "kubectl rollout resume deployment/${told.deployment}" first`,
  )
}

const pathOf = ({ namespace }: Told, resource: string): string =>
  `/apis/apps/v1/namespaces/${encodeURIComponent(namespace)}/${resource}`
const objectPath = (told: Told): string => pathOf(told, `deployments/${encodeURIComponent(told.deployment)}`)

async function readDeployment(kube: Kube, told: Told): Promise<Deployment | UndoOutcome> {
  const answer = await kube.send({ method: 'GET', path: objectPath(told) })
  return answer.status === 200 ? (answer.body as Deployment) : fault(told, answer, 'get')
}

async function readSets(kube: Kube, told: Told, { spec }: Deployment): Promise<readonly ReplicaSet[] | UndoOutcome> {
  const query = { labelSelector: labelSelectorFrom(spec.selector) }
  const answer = await kube.send({ method: 'GET', path: pathOf(told, 'replicasets'), query })
  if (answer.status === 200) return (answer.body as { items?: readonly ReplicaSet[] }).items ?? []
  return fault(told, answer, 'list')
}

/** A failed `test` and a template that is no good are both a 422: what tells them apart is whether the object is as it was. */
async function isUntouched(kube: Kube, told: Told, read: Deployment): Promise<boolean> {
  const again = await readDeployment(kube, told)
  return !('done' in again) && again.metadata.resourceVersion === read.metadata.resourceVersion
}

interface Undo {
  readonly deployment: Deployment
  readonly revisions: Revisions
}

function patch(kube: Kube, told: Told, { deployment, revisions }: Undo): Promise<KubeAnswer> {
  const { earlierSet, current } = revisions
  const hash = earlierSet.metadata.labels?.[templateHashLabel]
  const annotations = {
    ...annotationsOf(deployment, earlierSet),
    'foldgate.dev/rollback-reason': told.reason,
    'foldgate.dev/rollback-by': told.actor,
    'foldgate.dev/rolled-back-from': String(current),
    ...(hash === undefined ? {} : { [wentBackToAnnotation]: hash }),
  }
  return kube.send({
    method: 'PATCH',
    path: objectPath(told),
    query: { fieldManager: 'foldgate-rollback', ...(told.dryRun ? { dryRun: 'All' } : {}) },
    contentType: 'application/json-patch+json',
    body: [
      { op: 'test', path: '/metadata/resourceVersion', value: deployment.metadata.resourceVersion },
      { op: 'replace', path: '/spec/template', value: templateOf(earlierSet) },
      { op: 'add', path: '/metadata/annotations', value: annotations },
    ],
  })
}

const nameOf = ({ namespace, deployment }: Told): string => `Deployment ${namespace}/${deployment}`

function success(told: Told, { current, earlier }: Revisions): UndoOutcome {
  const dryRun = told.dryRun ?? false
  const verb = dryRun ? 'would go back' : 'goes back'
  const words = `${nameOf(told)} ${verb} from revision ${current} to revision ${earlier}, asked by ${told.actor}: ${told.reason}`
  return { done: true, dryRun, from: current, to: earlier, words }
}

function refused(told: Told, why: UndoRefusal, words: string): UndoOutcome {
  return { done: false, why, words: `${nameOf(told)} is not undone: ${words}` }
}

function forbidden(told: Told, missing: readonly Permission[]): UndoOutcome {
  const rules = missing.map(sayPermission).join(' and ')
  const words = `the Role of this service account in namespace ${told.namespace} lacks ${rules}`
  return { ...refused(told, 'forbidden', words), missing } as UndoOutcome
}

function fault(told: Told, { status, body }: KubeAnswer, verb: 'get' | 'list' | 'patch'): UndoOutcome {
  if (status === 403) {
    const name = verb === 'list' ? {} : { name: told.deployment }
    return forbidden(told, [
      { group: 'apps', resource: verb === 'list' ? 'replicasets' : 'deployments', verb, ...name },
    ])
  }
  if (status === 401) return refused(told, 'forbidden', 'the API server does not know this service account (401)')
  if (status === 404) return refused(told, 'not-found', 'there is no such Deployment')
  const said = (body as { message?: unknown } | undefined)?.message
  return refused(told, 'rejected', `the API server says ${status}${typeof said === 'string' ? `: ${said}` : ''}`)
}
