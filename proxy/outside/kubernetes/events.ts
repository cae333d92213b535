import { randomBytes } from 'node:crypto'
import type { Clock, Log } from '../../../plugins/host.ts'
import { createOutbox, type OutboxParts, type Try } from '../notify/outbox.ts'
import type { Kube, KubeAnswer } from './client.ts'

/** Why an Event was recorded: the column REASON of `kubectl get events`. */
export type EventReason =
  | 'LayerMoved'
  | 'LayerHeld'
  | 'LayerRolledBack'
  | 'RollbackFailed'
  | 'WitnessDisagrees'
  | 'PanicFile'
  | 'DeploymentUndone'
  | 'RollbackSkipped'

/** One thing to record. */
export interface KubeEvent {
  readonly type: 'Normal' | 'Warning'
  readonly reason: EventReason
  /** What was done, in one word, such as `Rollback`. */
  readonly action: string
  /** In plain words; cut at 1,024 bytes, which is what the API takes. */
  readonly note: string
}

/** What the Events are about. */
export interface EventSubject {
  readonly kind: 'Deployment' | 'Pod'
  readonly name: string
  readonly namespace: string
  /** `kubectl describe` looks for it. A Deployment's is read when it is not known; a pod's comes from the downward API. */
  readonly uid?: string
}

/** What Events are recorded with. */
export interface EventsParts {
  readonly kube: Kube
  readonly subject: EventSubject
  /** Which gateway it was: the pod's name, at most 128 characters. */
  readonly instance: string
  readonly clock: Clock
  readonly log: Log
  /** For tests: see {@link OutboxParts}. */
  readonly wait?: OutboxParts<unknown>['wait']
}

/** Records Events, beside the calls and never on their way. */
export interface KubeEvents {
  /** Never waits and never throws. The same thing again within six minutes raises the count of the Event that is there. */
  record(event: KubeEvent): void
  /** How many were given up. */
  readonly lost: number
  settled(): Promise<void>
  close(): void
}

/** An Event that is there, or on its way. */
interface Series {
  readonly name: string
  readonly event: KubeEvent
  readonly firstAt: number
  lastAt: number
  count: number
  /** How many the API server knows of. */
  told: number
  queued: boolean
}

/** As in client-go: after so long the same thing is a new Event. */
const seriesMs = 360_000
const mostSeries = 128
const room = 64

/** Makes {@link KubeEvents} of `events.k8s.io/v1`. Needs the rules of {@link eventRules}. */
export function createKubeEvents(parts: EventsParts): KubeEvents {
  const open = new Map<string, Series>()
  const uid = uidReader(parts)
  let lost = 0
  const outbox = createOutbox<Series>({
    room,
    ...(parts.wait ? { wait: parts.wait } : {}),
    send: async (series) => {
      series.queued = false
      return series.told === 0 ? create(series, parts, await uid()) : extend(series, parts)
    },
    lost(series, words) {
      lost++
      for (const [key, each] of open) if (each === series) open.delete(key)
      parts.log.warn({ reason: series.event.reason }, `a Kubernetes Event was not recorded: ${words}`)
    },
  })
  return {
    record(event) {
      const now = parts.clock.now()
      const key = JSON.stringify([event.type, event.reason, event.action, event.note])
      const known = open.get(key)
      const series = known && now - known.lastAt < seriesMs ? known : seriesFrom(event, parts.subject.name, now)
      if (series === known) Object.assign(series, { lastAt: now, count: series.count + 1 })
      open.delete(key)
      open.set(key, series)
      if (open.size > mostSeries) open.delete(open.keys().next().value as string)
      // What waits to be sent says the count as it is when it is sent: a storm of one thing is one request, not thousands.
      if (series.queued) return
      series.queued = true
      outbox.put(series)
    },
    get lost() {
      return lost
    },
    settled: () => outbox.settled(),
    close: () => outbox.close(),
  }
}

function seriesFrom(event: KubeEvent, subject: string, now: number): Series {
  const name = `${subject.slice(0, 230)}.${randomBytes(8).toString('hex')}`
  return { name, event, firstAt: now, lastAt: now, count: 1, told: 0, queued: false }
}

const pathOf = ({ namespace }: EventSubject): string =>
  `/apis/events.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/events`

/** The time format of Events: microseconds. */
const microTime = (ms: number): string => new Date(ms).toISOString().replace('Z', '000Z')

async function create(series: Series, { kube, subject, instance }: EventsParts, uid: string | undefined): Promise<Try> {
  const { name, event, firstAt, lastAt, count } = series
  const apiVersion = subject.kind === 'Pod' ? 'v1' : 'apps/v1'
  const answer = await kube.send({
    method: 'POST',
    path: pathOf(subject),
    body: {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name, namespace: subject.namespace },
      eventTime: microTime(firstAt),
      reportingController: 'foldgate.dev/gateway',
      reportingInstance: instance.slice(0, 128),
      ...{ type: event.type, reason: event.reason, action: event.action, note: cutBytes(event.note, 1_024) },
      regarding: {
        ...{ apiVersion, kind: subject.kind, name: subject.name, namespace: subject.namespace },
        ...(uid === undefined ? {} : { uid }),
      },
      ...(count > 1 ? { series: { count, lastObservedTime: microTime(lastAt) } } : {}),
    },
  })
  // A first try may have arrived without its answer; the name is ours alone.
  if (answer.status === 201 || answer.status === 409) series.told = count
  return triedFrom(answer, answer.status === 409)
}

async function extend(series: Series, { kube, subject }: EventsParts): Promise<Try> {
  const { name, count, lastAt } = series
  if (count <= series.told) return { done: true }
  const answer = await kube.send({
    method: 'PATCH',
    path: `${pathOf(subject)}/${encodeURIComponent(name)}`,
    contentType: 'application/merge-patch+json',
    body: { series: { count, lastObservedTime: microTime(lastAt) } },
  })
  if (answer.status === 200) series.told = count
  // Events are deleted after an hour; the next one begins a new series.
  if (answer.status === 404) series.lastAt = Number.NEGATIVE_INFINITY
  return triedFrom(answer, answer.status === 404)
}

function triedFrom({ status, body }: KubeAnswer, enough: boolean): Try {
  if (enough || (status >= 200 && status < 300)) return { done: true }
  const said = (body as { message?: unknown } | undefined)?.message
  const words = `the API server says ${status}${typeof said === 'string' ? `: ${said}` : ''}`
  return { done: false, again: status === 429 || status >= 500, words }
}

function uidReader({ kube, subject }: EventsParts): () => Promise<string | undefined> {
  let known = subject.uid
  return async () => {
    if (known !== undefined || subject.kind === 'Pod') return known
    const place = `/apis/apps/v1/namespaces/${encodeURIComponent(subject.namespace)}/deployments`
    const answer = await kube.send({ method: 'GET', path: `${place}/${encodeURIComponent(subject.name)}` })
    known = (answer.body as { metadata?: { uid?: string } } | undefined)?.metadata?.uid
    return known
  }
}

function cutBytes(text: string, most: number): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= most) return text
  return `${bytes
    .subarray(0, most - 6)
    .toString('utf8')
    .replace(/\uFFFD+$/, '')}…`
}
