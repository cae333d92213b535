import type { Kube } from './client.ts'
import { type Permission, type PolicyRule, permissionsFrom } from './rules.ts'

const reviews = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'

/**
 * What of some rules this identity does not have in a namespace, by SelfSubjectAccessReview
 * (`authorization.k8s.io/v1`). Every authenticated identity may ask that; where the cluster refuses even the question, nothing is
 * known to be missing, and the request itself is refused later. Throws as `send` does.
 */
export async function missingPermissions(
  kube: Kube,
  namespace: string,
  rules: readonly PolicyRule[],
): Promise<readonly Permission[]> {
  const asked = permissionsFrom(rules)
  const allowed = await Promise.all(asked.map((permission) => isAllowed(kube, namespace, permission)))
  return asked.filter((_, index) => !allowed[index])
}

async function isAllowed(kube: Kube, namespace: string, permission: Permission): Promise<boolean> {
  const answer = await kube.send({
    method: 'POST',
    path: reviews,
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: { namespace, ...permission } },
    },
  })
  if (answer.status !== 201 && answer.status !== 200) return true
  const { status } = answer.body as { status?: { allowed?: boolean } }
  return status?.allowed === true
}
