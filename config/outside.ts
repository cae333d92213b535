import type { Fault } from '../plugins/errors.ts'
import type { JsonSchema } from '../plugins/schema.ts'
import { entry, integer, list, milliseconds, oneOf, optionalText, ratio, section, text } from './field.ts'

/** What Foldgate may do to, and say in, the Kubernetes cluster that it runs in. */
export interface KubernetesConfig {
  /** Undo the runner's Deployment when every layer is rolled back and it is asked for. Off by default. */
  readonly rollback: boolean
  /** Only ask the API server whether it would accept the undo; nothing changes. */
  readonly dryRun: boolean
  /** Record stage changes and rollbacks as Kubernetes Events. */
  readonly events: boolean
  /** Name of the runner's Deployment; needed by `rollback`. Without it events are about this pod. */
  readonly deployment: string | null
  /** Null: that of this pod's service account, or of the kubeconfig's context. */
  readonly namespace: string | null
  /** Null: the service account of this pod. */
  readonly kubeconfigFile: string | null
}

/** What people can be told of, least urgent first. */
export const noticeKinds = ['moved', 'held', 'witness-disagrees', 'rolled-back', 'rollback-failed', 'panic'] as const

/** One of {@link noticeKinds}. */
export type NoticeKind = (typeof noticeKinds)[number]

/** The forms a notice can be sent in. */
export const notifyShapes = ['slack', 'pagerduty', 'alertmanager', 'json'] as const

/** Where notices go, and in which form. */
export interface NotifyConfig {
  /** Such as `oncall`; names it in the log. */
  readonly name: string
  readonly shape: (typeof notifyShapes)[number]
  /** Null: `urlFile`, and for `pagerduty` PagerDuty's own address. Alertmanager: up to and with `/api/v2/alerts`. */
  readonly url: string | null
  /** A file with the URL, where the URL is itself a secret (Slack). */
  readonly urlFile: string | null
  /** `json`: the key of the signature. `pagerduty`: the routing key. `alertmanager`: a bearer token. `slack`: none. */
  readonly secretFile: string | null
  /** What is sent there. */
  readonly on: readonly NoticeKind[]
  /** Put into every message; `#KIND` is appended to it. */
  readonly runbookUrl: string | null
  readonly timeoutMs: number
}

/** A store of traces that is asked as a second witness. */
export interface TraceStoreConfig {
  /** `jaeger`: `/api/traces`. `jaeger-v3`: `/api/v3/traces`. `tempo`: TraceQL. */
  readonly kind: 'jaeger' | 'jaeger-v3' | 'tempo'
  /** Base URL; null: nobody is asked. */
  readonly url: string | null
  /** A bearer token. */
  readonly tokenFile: string | null
  /** Tenant of a Tempo that has several (`X-Scope-OrgID`). */
  readonly tenant: string | null
  /** `head`: whether a trace is kept is decided before anything is known of it. `tail`: failures are kept more often. */
  readonly sampling: 'head' | 'tail'
  /** Fewest calls an arm needs in the store before anything is concluded. */
  readonly minCalls: number
  /** Most traces that are read for one question. */
  readonly maxTraces: number
  /** How sure a disagreement must be: the chance of one by accident. */
  readonly alpha: number
  readonly timeoutMs: number
}

/** The `folding.kubernetes` section. */
export const kubernetesSchema: JsonSchema = section('What may be done in the Kubernetes cluster; all of it is off.', {
  rollback: { type: 'boolean', description: 'Undo the runner’s Deployment on request.', default: false },
  dryRun: { type: 'boolean', description: 'Only ask the API server whether it would accept the undo.', default: false },
  events: { type: 'boolean', description: 'Record stage changes and rollbacks as Events.', default: false },
  deployment: {
    ...optionalText('Name of the runner’s Deployment.'),
    pattern: '^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$',
  },
  namespace: {
    ...optionalText('Its namespace; null: that of this pod’s service account.'),
    pattern: '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$',
  },
  kubeconfigFile: optionalText('A kubeconfig; null: the service account of this pod.'),
})

/** The `folding.panicFile` field. */
export const panicFileSchema: JsonSchema = optionalText(
  'While this file exists, every layer is back in the gateway; null: no file is looked for.',
)

/** The `folding.notify` section. */
export const notifySchema: JsonSchema = list(
  'Who is told of stage changes and rollbacks.',
  entry(
    {
      name: text('Names it in the log.', '^[A-Za-z0-9._-]{1,64}$'),
      shape: oneOf('The form of the message.', notifyShapes),
      url: {
        ...optionalText('Where to; null: urlFile, or PagerDuty’s own address.'),
        pattern: '^https?://[^\\s]+$',
        // It may be a secret as a whole, and who looks at a configuration need not see it.
        writeOnly: true,
      },
      urlFile: optionalText('A file with the URL, where the URL is itself a secret.'),
      secretFile: optionalText('json: key of the signature. pagerduty: routing key. alertmanager: bearer token.'),
      on: {
        type: 'array',
        description: 'What is sent there.',
        items: oneOf('Something to be told of.', noticeKinds),
        default: [...noticeKinds],
        minItems: 1,
        uniqueItems: true,
      },
      runbookUrl: { ...optionalText('Put into every message; #KIND is appended.'), pattern: '^https?://[^\\s#]+$' },
      timeoutMs: milliseconds('For one try.', 5_000),
    },
    ['name', 'shape'],
  ),
)

/** The `telemetry.traceStore` section. */
export const traceStoreSchema: JsonSchema = section('A store of traces that is asked as a second witness.', {
  kind: oneOf('Which API it has.', ['jaeger', 'jaeger-v3', 'tempo'], 'jaeger'),
  url: { ...optionalText('Base URL; null: nobody is asked.'), pattern: '^https?://[^\\s?#]+$' },
  tokenFile: optionalText('A file with a bearer token.'),
  tenant: { ...optionalText('Tenant (X-Scope-OrgID) of a Tempo that has several.'), pattern: '^[!-~]{1,150}$' },
  sampling: oneOf(
    'head: kept or not before anything is known of a trace. tail: failures are kept more often.',
    ['head', 'tail'],
    'head',
  ),
  minCalls: integer('Fewest calls an arm needs there before anything is concluded.', 100, {
    minimum: 10,
    maximum: 100_000,
  }),
  maxTraces: integer('Most traces that are read for one question.', 500, { minimum: 20, maximum: 1_500 }),
  alpha: ratio('The chance of a disagreement by accident.', 0.001),
  timeoutMs: milliseconds('For one request.', 10_000),
})

/** The pieces that belong to this file, as they stand in a configuration. */
export interface OutsideConfig {
  readonly kubernetes: KubernetesConfig
  readonly notify: readonly NotifyConfig[]
}

/** What is wrong with a valid configuration of them, with paths from `folding`. */
export function outsideFaults({ kubernetes, notify }: OutsideConfig): Fault[] {
  const faults: Fault[] = []
  const fault = (path: string, message: string): void => void faults.push({ path: `folding.${path}`, message })
  if (kubernetes.rollback && kubernetes.deployment === null)
    fault('kubernetes.deployment', 'is needed: kubernetes.rollback is on')
  if (kubernetes.dryRun && !kubernetes.rollback) fault('kubernetes.dryRun', 'does nothing: kubernetes.rollback is off')
  const names = new Set<string>()
  for (const [index, target] of notify.entries()) {
    const at = `notify[${index}]`
    if (names.has(target.name)) fault(`${at}.name`, `is given twice: ${target.name}`)
    names.add(target.name)
    if (target.url !== null && target.urlFile !== null) fault(`${at}.url`, 'and urlFile exclude each other')
    if (target.url === null && target.urlFile === null && target.shape !== 'pagerduty')
      fault(`${at}.url`, 'or urlFile is needed')
    if (target.secretFile === null && (target.shape === 'json' || target.shape === 'pagerduty'))
      fault(`${at}.secretFile`, target.shape === 'json' ? 'is needed to sign with' : 'is needed: the routing key')
    if (target.secretFile !== null && target.shape === 'slack')
      fault(`${at}.secretFile`, 'does nothing: slack keeps its secret in the URL')
  }
  return faults
}
