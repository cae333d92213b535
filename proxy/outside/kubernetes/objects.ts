/** The part of an object's metadata that is read here. */
export interface ObjectMeta {
  readonly name: string
  readonly namespace: string
  readonly uid: string
  readonly resourceVersion: string
  /** Raised by every change of the spec, not by one of the status. */
  readonly generation?: number
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly ownerReferences?: readonly OwnerReference[]
}

/** Who owns an object. */
export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
}

/** A pod template; whatever it holds is kept as it is. */
export interface PodTemplate {
  readonly metadata?: { readonly labels?: Readonly<Record<string, string>> } & Readonly<Record<string, unknown>>
  readonly spec: unknown
}

/** A label selector. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>
  readonly matchExpressions?: readonly {
    readonly key: string
    readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist'
    readonly values?: readonly string[]
  }[]
}

/** A Deployment of `apps/v1`, as far as it is read here. */
export interface Deployment {
  readonly metadata: ObjectMeta
  readonly spec: { readonly paused?: boolean; readonly selector: LabelSelector; readonly template: PodTemplate }
  readonly status?: { readonly observedGeneration?: number }
}

/** A ReplicaSet of `apps/v1`, as far as it is read here. */
export interface ReplicaSet {
  readonly metadata: ObjectMeta
  readonly spec: { readonly template: PodTemplate }
}

/** A selector as the query parameter `labelSelector` has it. */
export function labelSelectorFrom({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const equal = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`)
  const others = matchExpressions.map(({ key, operator, values = [] }) => {
    if (operator === 'Exists') return key
    if (operator === 'DoesNotExist') return `!${key}`
    return `${key} ${operator === 'In' ? 'in' : 'notin'} (${values.join(',')})`
  })
  return [...equal, ...others].join(',')
}
