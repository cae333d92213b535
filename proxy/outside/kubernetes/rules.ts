import type { KubernetesConfig } from '../../../config/outside.ts'

/** A rule of a Role, in the form of `rbac.authorization.k8s.io/v1`. */
export interface PolicyRule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly verbs: readonly string[]
}

/** What undoing a Deployment needs. `list` cannot be limited to names (Kubernetes, "Using RBAC authorization"). */
export function undoRules(deployment: string): readonly PolicyRule[] {
  return [
    { apiGroups: ['apps'], resources: ['deployments'], resourceNames: [deployment], verbs: ['get', 'patch'] },
    { apiGroups: ['apps'], resources: ['replicasets'], verbs: ['list'] },
  ]
}

/** What recording Events about a Deployment, or without one about a pod, needs: its uid has to be read first. */
export function eventRules(deployment: string | null): readonly PolicyRule[] {
  const read =
    deployment === null
      ? []
      : [{ apiGroups: ['apps'], resources: ['deployments'], resourceNames: [deployment], verbs: ['get'] }]
  return [...read, { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] }]
}

/** The rules of the Role that a configuration needs in its namespace, no more; empty where everything is off. */
export function rulesFrom(config: Pick<KubernetesConfig, 'rollback' | 'events' | 'deployment'>): readonly PolicyRule[] {
  const undo = config.rollback && config.deployment !== null ? undoRules(config.deployment) : []
  const events = config.events ? eventRules(config.deployment) : []
  // The undo reads the Deployment as well: one rule for it is enough.
  return [...undo, ...events.filter(({ resources }) => undo.length === 0 || resources[0] === 'events')]
}

/** One thing that a rule allows. */
export interface Permission {
  readonly group: string
  readonly resource: string
  readonly name?: string
  readonly verb: string
}

/** A list of rules, taken apart. */
export function permissionsFrom(rules: readonly PolicyRule[]): readonly Permission[] {
  return rules.flatMap(({ apiGroups, resources, resourceNames, verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        verbs.flatMap((verb) =>
          (resourceNames ?? [undefined]).map((name) => ({ group, resource, verb, ...(name ? { name } : {}) })),
        ),
      ),
    ),
  )
}

/** A permission as the rule that a Role would have to have. */
export function sayPermission({ group, resource, name, verb }: Permission): string {
  const only = name === undefined ? '' : `, resourceNames: [${name}]`
  return `{apiGroups: [${group}], resources: [${resource}]${only}, verbs: [${verb}]}`
}
