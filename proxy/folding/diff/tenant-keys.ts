import { essenceDigest } from '../../../plugins/acknowledgement.ts'
import type { Facts } from '../../../plugins/call.ts'
import { errorKinds } from '../../../plugins/errors.ts'
import { createLru } from '../../../plugins/lru.ts'

/** Remembers whose calls have which cache keys, as the digests that are compared. */
export interface TenantKeys {
  /**
   * Notes the digests of the key of a tenant's call, as the gateway and the runner made it. True when the runner's is one that a call of
   * another tenant has, which the gateway keeps apart.
   */
  foreign(tenant: string, here: string, there: string): boolean
}

interface Owner {
  readonly tenant: string
  readonly here: string
}

/** Makes {@link TenantKeys} that remember so many keys, those used last. */
export function createTenantKeys(capacity = 65_536): TenantKeys {
  const owners = createLru<Owner>(capacity)
  return {
    foreign(tenant, here, there) {
      const owner = here === there ? undefined : owners.get(there)
      if (!keyless.has(here)) owners.set(here, { tenant, here })
      if (!owner && !keyless.has(there)) owners.set(there, { tenant, here })
      return owner !== undefined && owner.tenant !== tenant && owner.here !== here
    },
  }
}

type BypassReason = Extract<Facts['cacheKey'], { readonly reason: unknown }>['reason']

const reasons: Readonly<Record<BypassReason, true>> = {
  'hash-field-absent': true,
  'not-deterministic': true,
  'inside-not-cacheable': true,
  'ttl-zero': true,
  asked: true,
}

/** Digests that say why there is no key: those are the same for everybody. */
const keyless: ReadonlySet<string> = new Set(
  [
    ...Object.keys(reasons).map((reason) => ({ reason })),
    ...Object.keys(errorKinds).map((code) => ({ code })),
    { code: null },
    null,
  ].map(essenceDigest),
)
