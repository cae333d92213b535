import type { GatewayConfig } from '../../config/schema.ts'
import type { StoreConfig } from '../../config/store.ts'
import type { Route } from '../../plugins/chat.ts'
import type { HeaderNames } from '../../plugins/headers.ts'
import type { Host } from '../../plugins/host.ts'
import type { SigningKey } from '../../plugins/jws-key.ts'
import type { Acting, Layer } from '../../plugins/layer.ts'
import type { LayerStage } from '../../plugins/stage.ts'
import type { RunnerSettings } from '../runner-settings.ts'
import { createContexts } from './context.ts'
import { createDecides, type Decides, type DecidesParts } from './decides.ts'
import { createIgnores } from './diff/ignore-rules.ts'
import { createStratifiedSample } from './diff/stratified-sample.ts'
import { createSeatings, overrideOf, type Seating } from './folding.ts'
import { createFolds, type Folds } from './folds.ts'
import { createPolicies, type Policies } from './policies.ts'
import type { InstanceWatch } from './processes/instance-parts.ts'
import { createInstances, type Instances } from './processes/instances.ts'
import { ackKeys, activeKey } from './processes/keys.ts'
import { ask } from './processes/wire.ts'
import type { Ejections } from './rollout/ejections.ts'
import { createSendFolded } from './send.ts'
import type { CompareSettings } from './shadow/comparing.ts'
import type { Copies } from './shadow/copies.ts'
import { openCopies } from './shadow/open-copies.ts'
import { openSimilarity } from './shadow/open-similarity.ts'
import type { Shadow } from './shadow/shadow.ts'
import { createShadowSide } from './shadow/side.ts'
import type { Stages } from './stages.ts'

/** What folding is opened with, for one configuration. */
export interface FoldingParts {
  readonly config: GatewayConfig<StoreConfig>
  readonly names: HeaderNames
  readonly host: Host
  readonly layers: readonly Layer[]
  readonly acting: ReadonlyMap<string, Acting>
  readonly runners: readonly RunnerSettings[]
  readonly stages: Stages
  /** Places that were taken out of a canary; absent: none ever is. */
  readonly ejections?: Pick<Ejections, 'has'>
  secretFile(path: string): Buffer
  readonly watch: InstanceWatch & { readonly shadow: Shadow }
}

/** Where layers sit under one configuration, and the way to the runner processes. */
export interface OpenedFolding {
  seating(route: Route): Seating
  readonly folds: Folds
  readonly policies: Policies
  /** Undefined without a key to sign with, or without a native runner: nothing folds then. */
  readonly instances: Instances | undefined
  readonly decides: Decides
  readonly shadow: Shadow
  /** Undefined where no call is answered twice more. */
  readonly copies: Copies | undefined
  stageOf(layer: string): LayerStage
  close(): Promise<void>
}

/** Opens folding. Throws `config_invalid` for what cannot be folded. */
export function openFolding(parts: FoldingParts): OpenedFolding {
  const { config, names, host, layers, acting, stages } = parts
  const { shadow } = parts.watch
  const settings = settingsOf(parts)
  const similar = openSimilarity(config.folding.shadow.similarity, parts)
  const on = layers.filter(({ name }) => acting.has(name))
  const policies = createPolicies(config, host, layers)
  const key = activeKey(config.signing, parts)
  const iss = `foldgate-${host.secret('gateway id').toString('hex').slice(0, 16)}`
  let reports = 0
  const instances = instancesOf(parts, { key, iss, policies, on, registered: () => reports++ })
  const home = homeOf(config) ?? soleNative(parts.runners)
  const contexts = key
    ? createContexts({ layers, acting, key, iss, now: () => host.clock.now() })
    : () => {
        throw new TypeError('no key')
      }
  const policyOf = (route: Route) => policies.of(route)
  const decides = createDecides({
    contexts,
    policyOf: ({ route }) => policyOf(route),
    instanceFor: (call) => instances?.pick(call.facts.target?.[0]?.runner ?? home ?? ''),
    post: posting(host),
    dropped: () => shadow.dropped('queue-full'),
  })
  const opened = { shadow, settings, similar, instances }
  const order = on.map(({ name }) => name)
  return {
    seating: createSeatings({
      layers: on,
      acting,
      stageOf: stages.of,
      // What is soft is told by reports, which come when they come.
      version: () => stages.version + reports,
      isSoft: (layer) => isSoft(layer, { policies, instances, runners: parts.runners }),
      conversationHeader: names.conversationId,
      never: new Set(config.folding.policy.neverCanary),
      ...(config.access.overrideScope === null
        ? {}
        : { override: overrideFor(config.access.overrideScope, names.override) }),
    }),
    folds: createFolds({
      layers: on,
      acting,
      send: createSendFolded({ order, contexts, policyOf, ejections: parts.ejections }),
      decides,
      shadow: createShadowSide({ shadow, settings, acting, now: () => host.clock.now() }),
      home,
    }),
    policies,
    instances,
    decides,
    shadow,
    copies: openCopies({ ...parts, ...opened, config: config.folding.shadow, layers: on, contexts, policyOf }),
    stageOf: stages.of,
    async close() {
      await instances?.close()
    },
  }
}

interface InstancesFrom {
  readonly key: SigningKey | undefined
  readonly iss: string
  readonly policies: Policies
  readonly on: readonly Layer[]
  /** A policy was registered somewhere. */
  registered(): void
}

/** The processes behind native runners; undefined where nothing can be signed, or nobody executes layers. */
function instancesOf(
  parts: FoldingParts,
  { key, iss, policies, on, registered }: InstancesFrom,
): Instances | undefined {
  const { config, host, layers, stages, runners, watch } = parts
  if (!key || !runners.some(({ kind }) => kind === 'native')) return undefined
  const folded = (): readonly string[] =>
    on.map(({ name }) => name).filter((name) => !['gateway', 'rolled-back'].includes(stages.of(name).stage))
  return createInstances({
    runners,
    ackKeys: ackKeys(config.runners, { file: host.file }),
    key,
    iss,
    host,
    policies,
    layers,
    watch: {
      ...watch,
      registered(runner, report) {
        registered()
        watch.registered?.(runner, report)
      },
    },
    standing: { layers: folded },
  })
}

/** Sends what runners are asked apart from calls. */
function posting({ closed }: Host): DecidesParts['post'] {
  return async ({ line, ackKey }, headers, body) => {
    if (!ackKey) return undefined
    const sent = { ...pairs(headers), 'content-type': 'application/json' }
    const question = { method: 'POST', path: '/decide', headers: sent, body, signed: true, timeoutMs: 2_000 } as const
    return (await ask({ line, closed }, question)).header('x-layer-ack')
  }
}

/** What the configuration says of comparing. Throws `config_invalid` for a rule that ignores nothing. */
function settingsOf({ config, layers, stages }: FoldingParts): CompareSettings {
  const { sample, ignore } = config.folding.shadow
  return {
    layers: new Map(layers.map((layer) => [layer.name, layer])),
    stageOf: (layer) => stages.of(layer),
    ignores: createIgnores(ignore),
    sample: sample < 1 ? createStratifiedSample({ rate: sample }) : undefined,
  }
}

/** The one runner of all targets of routing, when routing is on. */
function homeOf({ layers: sections }: GatewayConfig): string | undefined {
  const routing = sections['routing'] as { readonly targets?: readonly { readonly runner: string }[] } | undefined
  const runners = new Set(routing?.targets?.map(({ runner }) => runner))
  return runners.size === 1 ? [...runners][0] : undefined
}

function soleNative(runners: readonly RunnerSettings[]): string | undefined {
  const native = runners.filter(({ kind }) => kind === 'native')
  return native.length === 1 ? native[0]?.name : undefined
}

function overrideFor(scope: string, header: string) {
  return (call: Parameters<typeof overrideOf>[0], layer: string): 'gateway' | 'runner' | undefined =>
    call.headers[header] !== undefined && call.facts.principal?.scopes.includes(scope)
      ? overrideOf(call, header, layer)
      : undefined
}

interface SoftFrom {
  readonly policies: Policies
  readonly instances: Instances | undefined
  readonly runners: readonly RunnerSettings[]
}

/** Some runner has said that it enforces this layer's step only in part. */
function isSoft(layer: string, { policies, instances, runners }: SoftFrom): boolean {
  return runners.some(({ name }) =>
    instances
      ?.of(name)
      .some((instance) => policies.all.some(({ digest }) => instance.report(digest)?.layers[layer]?.status === 'soft')),
  )
}

function pairs(headers: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {}
  for (let at = 0; at + 1 < headers.length; at += 2) found[headers[at] as string] = headers[at + 1] as string
  return found
}
