import { hostname } from 'node:os'
import type { KubernetesConfig } from '../../config/outside.ts'
import type { GatewayConfig } from '../../config/schema.ts'
import { readSecretFile, resolveFrom } from '../../config/secret-file.ts'
import type { Clock, Http, Log } from '../../plugins/host.ts'
import type { ChangedBy } from '../folding/stages.ts'
import { type Kube, openKube } from './kubernetes/client.ts'
import { eventFromNotice, eventFromUndo } from './kubernetes/event-from-notice.ts'
import { createKubeEvents, type EventSubject, type KubeEvents } from './kubernetes/events.ts'
import { undoDeployment } from './kubernetes/undo.ts'
import type { Notice } from './notify/notice.ts'
import { createNotifier } from './notify/notifier.ts'
import { createWitness, type Witness } from './traces/witness.ts'

/** What came of undoing the runner's Deployment, in words. */
export interface UndoView {
  readonly done: boolean
  readonly words: string
}

/** Those outside, as one configuration names them. */
export interface Informers {
  /** Tells everybody who wants to hear of it. Never waits and never throws. */
  tell(notice: Notice): void
  /** Undoes the runner's Deployment where that is on. Never throws. */
  undo(by: ChangedBy): Promise<UndoView>
  /** The trace store; undefined: none is configured. */
  readonly witness: Witness | undefined
  readonly service: string
  /** Resolves when nothing is under way any more. */
  settled(): Promise<void>
  /** Gives up what is left. */
  close(): void
}

/** What informers are opened with. */
export interface InformerParts {
  readonly config: GatewayConfig
  /** The directory that paths in the configuration are relative to. */
  readonly base: string
  readonly http: Http
  readonly clock: Clock
  readonly log: Log
}

/** Opens what a configuration names; the Kubernetes client only where something of it is on. Throws `config_invalid`. */
export async function openInformers(parts: InformerParts): Promise<Informers> {
  const { config, base, http, clock, log } = parts
  const { kubernetes, notify } = config.folding
  const { serviceName, traceStore } = config.telemetry
  const secret = (path: string): Buffer => readSecretFile(resolveFrom(base, path))
  const file = kubernetes.kubeconfigFile
  const kube =
    kubernetes.rollback || kubernetes.events
      ? await openKube({ kubeconfigFile: file === null ? null : resolveFrom(base, file) })
      : undefined
  const events = kube && kubernetes.events ? eventsAt(kube, parts) : undefined
  const notifier = createNotifier({ targets: notify, http, clock, log, service: serviceName, secret })
  return {
    tell(notice) {
      notifier.tell(notice)
      events?.record(eventFromNotice(notice))
    },
    undo: (by) => undo(by, kubernetes, { kube, events, log }),
    witness: createWitness(traceStore, { http, secret }),
    service: serviceName,
    settled: async () => {
      await Promise.all([notifier.settled(), events?.settled()])
    },
    close() {
      notifier.close()
      events?.close()
    },
  }
}

function eventsAt(kube: Kube, { config, clock, log }: InformerParts): KubeEvents {
  const { deployment, namespace: given } = config.folding.kubernetes
  const namespace = given ?? kube.namespace
  // The names that the downward API is usually asked for; a pod's host name is its own.
  const { POD_NAME: pod = hostname(), POD_UID: uid } = process.env
  const subject: EventSubject =
    deployment === null
      ? { kind: 'Pod', name: pod, namespace, ...(uid ? { uid } : {}) }
      : { kind: 'Deployment', name: deployment, namespace }
  return createKubeEvents({ kube, subject, instance: pod, clock, log })
}

interface Cluster {
  readonly kube: Kube | undefined
  readonly events: KubeEvents | undefined
  readonly log: Log
}

async function undo(by: ChangedBy, config: KubernetesConfig, { kube, events, log }: Cluster): Promise<UndoView> {
  const { rollback, deployment, namespace, dryRun } = config
  if (!kube || !rollback || deployment === null)
    return { done: false, words: 'no Deployment is undone: folding.kubernetes.rollback is off' }
  const outcome = await undoDeployment(kube, { deployment, namespace, dryRun, ...by })
  events?.record(eventFromUndo(outcome))
  const { done, words } = outcome
  log[done ? 'info' : 'warn']({ actor: by.actor, reason: by.reason, words }, 'asked to undo the Deployment')
  return { done, words }
}
