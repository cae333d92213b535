import { isDeepStrictEqual } from 'node:util'

/** A JSON patch (RFC 6902). */
export type JsonPatch = readonly { readonly op: string; readonly path: string; readonly value: unknown }[]

/** An Event of `events.k8s.io/v1`. */
export interface EventDocument {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace: string }
  readonly eventTime: string
  readonly reportingController: string
  readonly reportingInstance: string
  readonly action: string
  readonly reason: string
  readonly type: string
  readonly note: string
  readonly regarding: Readonly<Record<string, string>>
  readonly series?: { readonly count: number; readonly lastObservedTime: string }
}

type Tree = Record<string, unknown>

/** Applies a JSON patch of tests, replacements and additions to members; undefined when it does not apply. */
export function applyJsonPatch(value: unknown, operations: JsonPatch): unknown {
  const next = structuredClone(value)
  for (const { op, path, value: given } of operations) {
    const keys = path.split('/').slice(1)
    const last = keys.pop() as string
    const parent = keys.reduce<Tree | undefined>((at, key) => at?.[key] as Tree | undefined, next as Tree)
    if (parent === undefined || (op !== 'add' && !(last in parent))) return undefined
    if (op === 'test' && !isDeepStrictEqual(parent[last], given)) return undefined
    if (op !== 'test') parent[last] = given
    if (!['test', 'replace', 'add'].includes(op)) return undefined
  }
  return next
}

/** What `events.k8s.io/v1` would not take of an Event (the validation of the API server, `pkg/apis/core/validation/events.go`). */
export function faultOfEvent(event: EventDocument, namespace: string): string | undefined {
  const micro = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/
  if (event.apiVersion !== 'events.k8s.io/v1' || event.kind !== 'Event') return 'apiVersion or kind'
  if (!/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(event.metadata?.name ?? '')) return 'metadata.name'
  if (event.metadata.namespace !== namespace || event.regarding?.['namespace'] !== namespace) return 'namespace'
  if (!micro.test(event.eventTime)) return 'eventTime'
  if (!/^[a-z0-9.-]+\/[A-Za-z0-9._-]{1,63}$/.test(event.reportingController)) return 'reportingController'
  for (const field of ['reportingInstance', 'action', 'reason'] as const)
    if (!event[field] || event[field].length > 128) return field
  if (!['Normal', 'Warning'].includes(event.type)) return 'type'
  if (Buffer.byteLength(event.note) > 1024) return 'note'
  if (event.series && !(event.series.count >= 2 && micro.test(event.series.lastObservedTime))) return 'series'
  return undefined
}
