import type { ObjectMeta } from './objects.ts'

/** Who else decides over an object, and what to do there. */
export interface Manager {
  readonly tool: 'argo-cd' | 'flux' | 'helm' | 'controller'
  /** Such as `Helm release "llm"`. */
  readonly who: string
  /** What to run or change instead, as a sentence without its stop. */
  readonly instead: string
}

/**
 * Who would take an undo back: Argo CD with self-heal within seconds, Flux at its next reconciliation, Helm at the next upgrade,
 * a controller at once. Undefined: nobody is known to.
 */
export function managerOf({
  namespace,
  labels = {},
  annotations = {},
  ownerReferences = [],
}: ObjectMeta): Manager | undefined {
  const argo =
    annotations['argocd.argoproj.io/tracking-id']?.split(':')[0] ??
    labels['argocd.argoproj.io/instance'] ??
    annotations['argocd.argoproj.io/instance']
  if (argo !== undefined) {
    return {
      tool: 'argo-cd',
      who: `the Argo CD application "${argo}"`,
      instead: `revert the change in Git, or run "argocd app rollback ${argo}" with automatic sync off`,
    }
  }
  const release = labels['helm.toolkit.fluxcd.io/name']
  const kustomization = labels['kustomize.toolkit.fluxcd.io/name']
  if (release !== undefined || kustomization !== undefined) return fluxManager(release, kustomization, labels)
  const helm = annotations['meta.helm.sh/release-name']
  if (helm !== undefined && labels['app.kubernetes.io/managed-by'] === 'Helm') {
    const where = annotations['meta.helm.sh/release-namespace'] ?? namespace
    return {
      tool: 'helm',
      who: `the Helm release "${helm}"`,
      instead: `run "helm rollback ${helm} --namespace ${where}"`,
    }
  }
  const owner = ownerReferences.find(({ controller }) => controller === true)
  if (owner === undefined) return undefined
  const who = `the ${owner.kind} "${owner.name}"`
  return { tool: 'controller', who, instead: `change ${who}, which made this Deployment` }
}

function fluxManager(
  release: string | undefined,
  kustomization: string | undefined,
  labels: Readonly<Record<string, string>>,
): Manager {
  const [kind, command] = release === undefined ? ['kustomize', 'kustomization'] : ['helm', 'helmrelease']
  const name = release ?? kustomization
  const where = labels[`${kind}.toolkit.fluxcd.io/namespace`] ?? 'flux-system'
  return {
    tool: 'flux',
    who: `the Flux ${command} "${name}"`,
    instead: `revert the change in Git, or run "flux suspend ${command} ${name} --namespace ${where}" first`,
  }
}
