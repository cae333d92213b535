import { labelValues } from './metric-values.ts'
import { createCounters, listed, type Sample } from './series.ts'

/** What the metrics are made for. */
export interface MetricsOptions {
  /** Of the product, such as `0.1.0`. */
  readonly version: string
  /** The commit it was built from; `unknown` where that is not known. */
  readonly commit: string
  /** The names of all layers of the product. */
  readonly layers: readonly string[]
}

/** What decisions over a layer that moves rest on. */
export interface MovingLayer {
  readonly layer: string
  /** Calls of the present step that have ended, by arm. */
  readonly canary: number
  readonly control: number
  /** Null while there is no evidence. */
  readonly ageSeconds: number | null
}

function samplesOf({ layer, canary, control }: MovingLayer): Sample[] {
  return [
    { labels: { layer, arm: 'canary' }, value: canary },
    { labels: { layer, arm: 'control' }, value: control },
  ]
}

/** What has a value of its own at each scrape, and how it is told. */
export function createGauges({ version, commit, layers }: MetricsOptions) {
  const stages = new Map(layers.map((layer) => [layer, 0]))
  const weights = new Map(layers.map((layer) => [layer, 0]))
  const result = listed('result', labelValues.reload)
  const reloads = createCounters([result], labelValues.reload.keys())
  let inflight = 0
  let reloaded = true
  let storeUp = () => true
  let switched: () => { readonly frozen: boolean; readonly unstreamed: boolean } = () => ({
    frozen: false,
    unstreamed: false,
  })
  let rollouts: () => Iterable<MovingLayer> = () => []
  let runners: () => Iterable<readonly [string, boolean]> = () => []
  const one = (value: number | boolean): Sample[] => [{ labels: {}, value: Number(value) }]
  return {
    inflight: (by: 1 | -1): void => {
      inflight += by
    },
    record: {
      layerStage(name: string, stage: number, weight = stage === 6 ? 1 : 0): void {
        if (!stages.has(name)) return
        stages.set(name, stage)
        weights.set(name, weight)
      },
      switches(ask: typeof switched): void {
        switched = ask
      },
      rollouts(ask: typeof rollouts): void {
        rollouts = ask
      },
      storeUp(ask: () => boolean): void {
        storeUp = ask
      },
      runnersAvailable(ask: typeof runners): void {
        runners = ask
      },
      reload(ok: boolean): void {
        reloaded = ok
        reloads.add(result.at(ok ? 'applied' : 'refused'), 1)
      },
    },
    read: {
      inflight_requests: () => one(inflight),
      store_up: () => one(storeUp()),
      frozen: () => one(switched().frozen),
      unstreamed: () => one(switched().unstreamed),
      config_reloads_total: reloads.samples,
      config_last_reload_success: () => one(reloaded),
      layer_stage: () => [...stages].map(([layer, value]) => ({ labels: { layer }, value })),
      canary_samples: () => [...rollouts()].flatMap(samplesOf),
      canary_evidence_age_seconds: () =>
        [...rollouts()].flatMap(({ layer, ageSeconds }) =>
          ageSeconds === null ? [] : [{ labels: { layer }, value: ageSeconds }],
        ),
      layer_weight_ratio: () => [...weights].map(([layer, value]) => ({ labels: { layer }, value })),
      runner_available: () => [...runners()].map(([runner, up]) => ({ labels: { runner }, value: Number(up) })),
      build_info: () => [{ labels: { version, node_version: process.version, commit }, value: 1 }],
    },
  }
}
