import { movableLayers } from '../config/check-folding.ts'
import { canonicalJson } from '../plugins/canonical.ts'
import { layers } from '../plugins/index.ts'
import type { Layer } from '../plugins/layer.ts'
import { type Movable, stagesFault } from '../plugins/legality.ts'
import type { LayerReport, PolicyReport } from '../plugins/policy-report.ts'
import { type LayerStage, sayStage, weightOf } from '../plugins/stage.ts'
import type { LayerPlace, LayerProcessView, LayerStory, LayerView, PolicyView } from './admin/layer-view.ts'
import type { FoldedPolicy } from './folding/policies.ts'
import type { Instance } from './folding/processes/instance.ts'
import type { Stages } from './folding/stages.ts'
import { addressOf } from './runner-views.ts'
import type { Setup } from './setup.ts'

/** What tells where layers run: the configuration in use, and the stages. */
export interface LayersNow {
  readonly setup: Setup
  readonly stages: Stages
}

const all: readonly Layer[] = layers

/** Every layer as it stands now, outermost first. */
export function layerViews(now: LayersNow): LayerView[] {
  return all.map((layer) => layerView(layer, now))
}

/** One layer with what it declares, its settings as in `shown`, and whether it may move now. Undefined when there is no such layer. */
export function layerStory(
  name: string,
  now: LayersNow,
  shown: Readonly<Record<string, unknown>>,
): LayerStory | undefined {
  const layer = all.find((each) => each.name === name)
  if (!layer) return undefined
  const { reads, writes, answers, rewrites } = layer
  const view = layerView(layer, now)
  return { ...view, reads, writes, answers, rewrites, config: shown[name], foldable: mayMove(view, now) }
}

/** What is wrong with where layers stand: those that are out and can act at no runner process, in words. */
export function layerProblems(views: readonly LayerView[], setup: Setup): string[] {
  return views
    .filter(({ on, stage, processes }) => on && isOut({ stage }) && !processes.some(({ able }) => able))
    .map(({ name, stage, weight, processes: [first, ...others] }) => {
      const more = others.length > 0 ? `, and so at ${others.length} more` : ''
      const why = first
        ? `${first.runner} ${first.address}: ${first.why}${more}`
        : (noWayOut(setup) ?? 'none is known yet')
      return `${name} is ${sayStage({ stage, weight })} and cannot act at any runner process: ${why}`
    })
}

/** Why no layer at all can move under a configuration, in words; undefined where some may. */
export function noWayOut({ config, folding }: Pick<Setup, 'config' | 'folding'>): string | undefined {
  if (folding.instances) return undefined
  return config.runners.some(({ kind }) => kind === 'native')
    ? 'signing.keys is empty, and what a runner is told must be signed'
    : 'no runner is of kind native'
}

const isOut = ({ stage }: Pick<LayerStage, 'stage'>): boolean => stage !== 'gateway' && stage !== 'rolled-back'

function layerView(layer: Layer, { setup, stages }: LayersNow): LayerView {
  const { name, routes } = layer
  const on = setup.acting.has(name)
  const at = stages.of(name)
  const stays = on ? setup.folding.policies.stays.get(name) : undefined
  const policies = on && stays === undefined ? policiesOf(layer, setup) : []
  const processes = policies.length > 0 ? processesFor(name, policies, setup) : []
  const standing = on ? standingOf(at, processes) : ({ where: 'none', status: 'evaporation-bypassed' } as const)
  return {
    name,
    on,
    stage: at.stage,
    weight: Math.round(weightOf(at) * 100),
    held: stages.isHeld(name),
    ...standing,
    routes,
    ...(stays === undefined ? {} : { stays }),
    policies: policies.map(policyView),
    processes,
  }
}

interface Standing {
  readonly where: LayerPlace
  readonly status: string
}

function standingOf({ stage }: LayerStage, processes: readonly LayerProcessView[]): Standing {
  if (stage === 'gateway' || stage === 'rolled-back') return { where: 'gateway', status: 'active' }
  if (stage === 'shadow') return { where: 'gateway', status: 'evaporation-started' }
  if (!processes.some(({ able }) => able)) return { where: 'gateway', status: 'fallback' }
  if (stage === 'canary') return { where: 'gateway+runner', status: 'evaporation-accelerating' }
  return { where: 'runner', status: 'evaporation-complete' }
}

function policiesOf({ routes }: Layer, { folding }: Setup): FoldedPolicy[] {
  return routes.flatMap((route) => folding.policies.of(route) ?? [])
}

const sizes = new WeakMap<FoldedPolicy, number>()

function policyView(folded: FoldedPolicy): PolicyView {
  const bytes = sizes.get(folded) ?? Buffer.byteLength(canonicalJson(folded.policy))
  sizes.set(folded, bytes)
  return { route: folded.policy.route, digest: folded.digest, bytes }
}

function processesFor(name: string, policies: readonly FoldedPolicy[], setup: Setup): LayerProcessView[] {
  return setup.runnerSettings.flatMap(({ name: runner }) =>
    (setup.folding.instances?.of(runner) ?? []).map((instance) => processView(name, policies, instance)),
  )
}

function processView(name: string, policies: readonly FoldedPolicy[], instance: Instance): LayerProcessView {
  const { runner, capabilities } = instance
  // Lists of models are always made here: no runner is asked about them.
  const asked = policies.filter(({ policy }) => policy.route !== 'models')
  const why = asked.map(({ digest }) => instance.whyNot(name, digest)).find(Boolean)
  const report = worst(policies.map(({ digest }) => reportOf(instance.report(digest), name)))
  return {
    runner,
    address: addressOf(instance.line),
    ...(capabilities ? { boot: capabilities.boot } : {}),
    able: why === undefined,
    ...(why ? { reason: why.reason, why: why.words } : {}),
    ...(report ? { report } : {}),
  }
}

function reportOf(report: PolicyReport | undefined, name: string): LayerReport | undefined {
  return report && Object.hasOwn(report.layers, name) ? report.layers[name] : undefined
}

function worst(reports: readonly (LayerReport | undefined)[]): LayerReport | undefined {
  const known = reports.filter((each) => each !== undefined)
  const is = (status: LayerReport['status']) => known.find((each) => each.status === status)
  return is('refused') ?? is('soft') ?? is('compiled')
}

/** Whether the layer may go further out as the others stand now, in words. */
function mayMove({ name, on, stage, weight }: LayerView, { setup, stages }: LayersNow): string {
  if (!on) return 'it is off'
  if (isOut({ stage })) return `it is ${sayStage({ stage, weight })}`
  const movable: readonly Movable[] = movableLayers(setup.config, all)
  const fault = stagesFault(movable, (each) => (each === name ? { stage: 'shadow' } : stages.of(each)))
  return fault ?? noWayOut(setup) ?? 'may move to the runner now'
}
