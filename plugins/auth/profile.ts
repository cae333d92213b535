import type { Principal } from '../call.ts'
import type { Host } from '../host.ts'
import { createLru } from '../lru.ts'
import type { ProfileConfig } from './config-profile.ts'
import { type Profile, scopesFromValue } from './rule.ts'

/** What a lookup came to: a profile, none, or no answer. */
export type Found = Profile | 'none' | 'failed'

/** Looks up what is known of callers beside their credentials. */
export interface Profiles {
  /** At once when it is remembered or static. Never throws or rejects. */
  find(principal: Principal): Found | Promise<Found>
}

/** The doors that profile lookups need. */
export type ProfileHost = Pick<Host, 'clock' | 'http' | 'store' | 'log'>

type Lookup = (principal: Principal) => Promise<Found>

/** A lookup that failed is not tried again for that caller within this time, in milliseconds. */
const failureMs = 1_000

/** Makes {@link Profiles} of the configured kind. `token` is what an HTTP endpoint is asked with. */
export function createProfiles(config: ProfileConfig, host: ProfileHost, token: string | undefined): Profiles {
  if (config.kind === 'static') return staticProfiles(config)
  return remembering(config, host, config.kind === 'http' ? httpLookup(config, host, token) : redisLookup(config, host))
}

function staticProfiles(config: ProfileConfig): Profiles {
  const entries = Object.entries(config.entries)
  const known = new Map(entries.map(([key, document]) => [key, profileFromDocument(document, config.fields)]))
  return { find: (principal) => known.get(keyFromTemplate(config.key, principal)) ?? 'none' }
}

function remembering(config: ProfileConfig, host: ProfileHost, lookup: Lookup): Profiles {
  const remembered = createLru<{ readonly found: Found; readonly until: number }>(config.cacheEntries)
  const inFlight = new Map<string, Promise<Found>>()
  let failing = false
  const ask = async (key: string, principal: Principal): Promise<Found> => {
    const found = await lookup(principal).catch((): Found => 'failed')
    inFlight.delete(key)
    const keepMs = found === 'failed' ? Math.min(failureMs, config.cacheMs) : config.cacheMs
    if (found === 'failed' && !failing) host.log.warn({ kind: config.kind }, 'profiles cannot be looked up')
    failing = found === 'failed'
    remembered.set(key, { found, until: host.clock.now() + keepMs })
    return found
  }
  return {
    find(principal) {
      const key = `${principal.tenant}\n${principal.id}`
      const known = remembered.get(key)
      const left = known ? known.until - host.clock.now() : 0
      if (known && left > 0 && left <= config.cacheMs) return known.found
      const under = inFlight.get(key) ?? ask(key, principal)
      inFlight.set(key, under)
      return under
    },
  }
}

function httpLookup(config: ProfileConfig, host: ProfileHost, token: string | undefined): Lookup {
  const headers = { accept: 'application/json', ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) }
  return async (principal) => {
    const { id, tenant } = principal
    // A URL parser would take these for steps up the path, however they are encoded.
    if ([id, tenant].some((each) => each === '.' || each === '..')) return 'failed'
    const url = fill(config.url ?? '', principal, encodeURIComponent)
    const answer = await host.http.send(url, { headers, timeoutMs: config.timeoutMs, maxBytes: 65_536 })
    if (answer.status === 404 || answer.status === 204) return 'none'
    if (answer.status !== 200) return 'failed'
    const document: unknown = JSON.parse(answer.body.toString('utf8'))
    if (document === null || typeof document !== 'object' || Array.isArray(document)) return 'failed'
    return profileFromDocument(document as Record<string, unknown>, config.fields)
  }
}

function redisLookup(config: ProfileConfig, host: ProfileHost): Lookup {
  return async (principal) => {
    const document = await host.store.hash(keyFromTemplate(config.key, principal))
    if (document) return profileFromDocument(document, config.fields)
    return host.store.up() ? 'none' : 'failed'
  }
}

function keyFromTemplate(template: string, principal: Principal): string {
  // Without this a caller could reach another tenant's document by a colon in its id.
  return fill(template, principal, (value) => value.replaceAll('%', '%25').replaceAll(':', '%3A'))
}

function fill(template: string, { id, tenant }: Principal, encode: (value: string) => string): string {
  return template.replace(/\{(id|tenant)\}/g, (_all, name: string) => encode(name === 'id' ? id : tenant))
}

/** A document as a profile: `tier`, `scopes` (a list, or a text with spaces) and the named members as claims. */
export function profileFromDocument(document: Readonly<Record<string, unknown>>, fields: readonly string[]): Profile {
  const own = (name: string): unknown => (Object.hasOwn(document, name) ? document[name] : undefined)
  const tier = own('tier')
  const claims = fields.map((name) => [name, own(name)] as const).filter(([, value]) => value !== undefined)
  return {
    ...(typeof tier === 'string' && tier ? { tier } : {}),
    scopes: scopesFromValue(own('scopes')),
    claims: Object.fromEntries(claims),
  }
}
