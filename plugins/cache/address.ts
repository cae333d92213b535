import { type Side, sideKeys } from '../host.ts'
import { cachedRoutes } from './pin.ts'
import { siphash } from './siphash.ts'

/** Where an answer belongs. */
export interface Place {
  /** SHA-256 of the key, in hex. */
  readonly digest: string
  readonly route: string
  /** Undefined where nobody is told apart. */
  readonly tenant: string | undefined
  /** The prompt version, for purging. */
  readonly prompt: string
}

/** Where answers lie in the store. Neither a tenant's name nor a key can be read from it. */
export interface Addresses {
  /** A tenant as it stands in addresses and entries. */
  tag(tenant: string | undefined): string
  /** The store's key: route, tenant, and SipHash-2-4 over the SHA-256 of the key, so that a purge finds it by prefix. */
  key(place: Place): string
  /** The prefixes that hold all answers of a tenant, a route, both, or everything. */
  prefixes(tag: string | undefined, route: string | undefined): readonly string[]
}

/** Makes the {@link Addresses} of one side under a secret of at least 16 bytes. */
export function createAddresses(secret: Buffer, side: Side): Addresses {
  const prefix = `cache:${sideKeys[side]}:e:`
  const tag = (tenant: string | undefined): string =>
    tenant === undefined ? '-' : siphash(secret, Buffer.from(tenant, 'utf8'))
  return {
    tag,
    key: ({ route, tenant, digest }) =>
      `${prefix}${route}:${tag(tenant)}:${siphash(secret, Buffer.from(digest, 'hex'))}`,
    prefixes(tenant, route) {
      if (tenant === undefined) return [route === undefined ? prefix : `${prefix}${route}:`]
      return (route === undefined ? cachedRoutes : [route]).map((each) => `${prefix}${each}:${tenant}:`)
    },
  }
}
