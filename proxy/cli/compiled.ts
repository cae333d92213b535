import type { LoadedConfig } from '../../config/load.ts'
import { canonicalJson } from '../../plugins/canonical.ts'
import { layers } from '../../plugins/index.ts'
import type { Policy } from '../../plugins/policy.ts'
import { createPolicies, type FoldedPolicy } from '../folding/policies.ts'
import type { RuleFinding } from './finding-words.ts'
import { createTrialHost } from './trial.ts'

/** What somebody found of one rule. */
export interface Found extends RuleFinding {
  /** Who: `here`, or the name and address of a runner process. */
  readonly by: string
}

/** One layer's rule in a policy. */
export interface CompiledStep {
  readonly layer: string
  readonly version: number
  /** Of its canonical form. */
  readonly bytes: number
  readonly found: readonly Found[]
}

/** The policy of one route. */
export interface CompiledRoute {
  readonly route: string
  readonly digest: string
  /** Of its canonical form. */
  readonly bytes: number
  readonly steps: readonly CompiledStep[]
  readonly policy: Policy
}

/** The layers of a configuration as data. */
export interface Compiled {
  readonly routes: readonly CompiledRoute[]
  /** The layers that are on and cannot leave the gateway, each with why. */
  readonly stays: readonly { readonly layer: string; readonly why: string }[]
}

/** Folds every layer of a configuration, without asking anybody what they make of it. Throws `config_invalid`. */
export function compiledFromConfig({ config, base }: Pick<LoadedConfig, 'config' | 'base'>): Compiled {
  const policies = createPolicies(config, createTrialHost(config, base, AbortSignal.abort()), layers)
  return {
    routes: policies.all.map(routeFrom),
    stays: [...policies.stays].map(([layer, why]) => ({ layer, why })),
  }
}

/** The same with what was found of each layer's rule. */
export function withFindings({ routes, stays }: Compiled, found: ReadonlyMap<string, readonly Found[]>): Compiled {
  const told = routes.map((route) => ({
    ...route,
    steps: route.steps.map((step) => ({ ...step, found: found.get(step.layer) ?? [] })),
  }))
  return { routes: told, stays }
}

function routeFrom({ digest, policy }: FoldedPolicy): CompiledRoute {
  const steps = policy.steps.map(({ layer, version, step }) => ({ layer, version, bytes: sizeOf(step), found: [] }))
  return { route: policy.route, digest, bytes: sizeOf(policy), steps, policy }
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(canonicalJson(value))
}
