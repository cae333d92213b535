import { posix } from 'node:path'
import type { GatewayConfig } from '../../config/schema.ts'
import type { Route } from '../../plugins/chat.ts'
import { gatewayError, gatewayErrorFrom } from '../../plugins/errors.ts'
import type { FoldSource, Host } from '../../plugins/host.ts'
import type { Layer } from '../../plugins/layer.ts'
import { type Policy, type PolicyStep, policyDigest, policyFault } from '../../plugins/policy.ts'

/** A policy with the digest that names it. */
export interface FoldedPolicy {
  readonly digest: string
  readonly policy: Policy
  /** The version of each layer's step: what acknowledgements are held against. */
  readonly versions: ReadonlyMap<string, number>
}

/** The policies of a configuration, one a route. */
export interface Policies {
  /** Undefined where nothing of the route can leave the gateway. */
  of(route: Route): FoldedPolicy | undefined
  get(digest: string): FoldedPolicy | undefined
  readonly all: readonly FoldedPolicy[]
  /** The layers that are on and cannot leave, each with why, in words. */
  readonly stays: ReadonlyMap<string, string>
}

/** What of the gateway folding reads. */
export type FoldingDoors = Pick<Host, 'declared' | 'conversationHeader' | 'file'>

/**
 * Folds the layers of a configuration that can leave the gateway, whatever their stage, outermost first. Reads the public files that they
 * name and no others. Throws `config_invalid` with the layer's place in front.
 */
export function createPolicies(
  { layers: sections, directives }: Pick<GatewayConfig, 'layers' | 'directives'>,
  doors: FoldingDoors,
  layers: readonly Layer[],
): Policies {
  const on = layers.filter(({ name }) => sections[name] !== undefined)
  const stays = new Map(
    on.flatMap((layer) => {
      const why = whyStays(layer, sections[layer.name])
      return why === undefined ? [] : [[layer.name, why] as const]
    }),
  )
  const source = createFoldSource(doors, directives)
  const steps = on
    .filter(({ name }) => !stays.has(name))
    .map((layer) => ({ layer, step: stepOf(layer, sections[layer.name], source) }))
  const byRoute = new Map<Route, FoldedPolicy>()
  for (const route of routes) {
    const here = steps.filter(({ layer }) => layer.routes.includes(route)).map(({ step }) => step)
    if (here.length > 0) byRoute.set(route, foldedFrom(route, here))
  }
  const all = [...byRoute.values()]
  const byDigest = new Map(all.map((folded) => [folded.digest, folded]))
  return { of: (route) => byRoute.get(route), get: (digest) => byDigest.get(digest), all, stays }
}

const routes: readonly Policy['route'][] = ['chat', 'completions', 'messages', 'embeddings', 'models']

function whyStays({ native, fold, stays }: Layer, section: unknown): string | undefined {
  if (!native || !fold) return 'it has no half that a runner executes'
  return stays?.(section)
}

/** One layer's section as data, or what is wrong with it, with its place in front. */
function stepOf(layer: Layer, section: unknown, source: FoldSource): PolicyStep {
  try {
    const step: PolicyStep['step'] = layer.fold?.(section, source)
    return { layer: layer.name, version: layer.native?.version ?? 1, step }
  } catch (reason) {
    const place = `layers.${layer.name}`
    const error = gatewayErrorFrom(reason)
    throw gatewayError('config_invalid', `${place}: ${error.message}`, { field: place, cause: reason })
  }
}

/** A policy of these steps, named and checked. Throws `config_invalid` for steps that no policy may hold. */
export function foldedFrom(route: Policy['route'], steps: readonly PolicyStep[]): FoldedPolicy {
  const policy: Policy = { v: 1, route, steps }
  const fault = policyFault(policy)
  if (fault !== undefined) throw gatewayError('config_invalid', `the policy of ${route}: ${fault}`)
  const versions = new Map(steps.map(({ layer, version }) => [layer, version]))
  return { digest: policyDigest(policy), policy, versions }
}

/** What layers fold from. A step names a secret file by its last part, so two of them must not share that. */
export function createFoldSource(
  { declared, conversationHeader, file }: FoldingDoors,
  { inlineTemplate = false }: { readonly inlineTemplate?: boolean } = {},
): FoldSource {
  const named = new Map<string, string>()
  return {
    declared,
    conversationHeader,
    inlineTemplate,
    file,
    secret(path) {
      const full = posix.normalize(path.replaceAll('\\', '/'))
      const bare = posix.basename(full)
      const other = named.get(bare)
      if (other !== undefined && other !== full) {
        const why = `a runner knows a secret by its bare name, and ${other} and ${full} share the name ${bare}`
        throw gatewayError('config_invalid', why)
      }
      named.set(bare, full)
      return bare
    },
  }
}
