import { serializeItem } from 'structured-headers'
import { type Fault, GatewayError, gatewayError } from '../errors.ts'
import { compilePath, type Path } from '../path.ts'
import { sayFault } from '../schema.ts'
import type { AmountsConfig, LimitConfig, RateLimitConfig } from './config.ts'
import type { Measure, Quota } from './rule.ts'

/** A limit, compiled: whose calls it counts together, and its quotas for each tier. */
export interface Limit {
  readonly name: string
  readonly paths: readonly Path[]
  /** Its keys name the tenant, so that all of them lie together and are taken in one step. */
  readonly ofTenant: boolean
  /** The quotas for callers of a tier. */
  quotas(tier: string): readonly Quota[]
  /** What `quotas` gives for any tier. */
  readonly variants: readonly (readonly Quota[])[]
}

/** The limits of a configuration. Throws `config_invalid` with every fault that no schema sees. */
export function limitsFromConfig(config: RateLimitConfig, declared: ReadonlySet<string>): readonly Limit[] {
  const faults: Fault[] = []
  const names = namesOf(config.limits, faults)
  const limits = config.limits.map((limit, index) => {
    const paths = pathsOf(limit, { index, declared, faults })
    checkAmounts(limit, { index, faults, tiers: config.tiers })
    return compiled(config, { index, name: names[index] as string, paths })
  })
  const [first] = faults
  if (first) throw gatewayError('config_invalid', sayFault(first), { faults, field: first.path })
  return limits
}

function namesOf(limits: readonly LimitConfig[], faults: Fault[]): string[] {
  const names = new Set<string>()
  return limits.map((limit, index) => {
    const own =
      limit.name ??
      (limit.key_fields
        .join('+')
        .replace(/[^A-Za-z0-9_.+-]/g, '-')
        .slice(0, 64) ||
        'all')
    if (limit.name !== undefined && names.has(own)) {
      faults.push({ path: `limits[${index}].name`, message: `"${own}" names another limit already` })
    }
    let name = own
    for (let n = 2; names.has(name); n++) name = `${own}-${n}`
    names.add(name)
    return name
  })
}

interface Where {
  readonly index: number
  readonly faults: Fault[]
}

function pathsOf(limit: LimitConfig, { index, declared, faults }: Where & { declared: ReadonlySet<string> }): Path[] {
  return limit.key_fields.flatMap((text, field) => {
    const at = `limits[${index}].key_fields[${field}]`
    try {
      const path = compilePath(text, declared)
      if (path.source === 'body' && !text.startsWith('body')) {
        faults.push({ path: at, message: `"${text}" is no fact; write body.${text} if the caller may choose it` })
      }
      return [path]
    } catch (reason) {
      faults.push({ path: at, message: reason instanceof GatewayError ? reason.message : 'is no path' })
      return []
    }
  })
}

function checkAmounts(limit: LimitConfig, { index, faults, tiers }: Where & Pick<RateLimitConfig, 'tiers'>): void {
  const added = index === 0 ? Object.values(tiers) : []
  const some = [limit, ...Object.values(limit.tiers), ...added].some(
    (each) => each.tokens_per_minute || each.requests_per_minute || each.concurrent,
  )
  if (!some) {
    const message = 'limits nothing; give tokens_per_minute, requests_per_minute or concurrent'
    faults.push({ path: `limits[${index}]`, message })
  } else if (limit.burst_capacity && !limit.tokens_per_minute && !limit.requests_per_minute) {
    const message = 'needs tokens_per_minute or requests_per_minute'
    faults.push({ path: `limits[${index}].burst_capacity`, message })
  }
}

function compiled(
  config: RateLimitConfig,
  { index, name, paths }: { index: number; name: string; paths: Path[] },
): Limit {
  const limit = config.limits[index] as LimitConfig
  const base = quotasOf(name, limit)
  const tierNames = new Set([...Object.keys(config.tiers), ...Object.keys(limit.tiers)])
  const byTier = new Map([...tierNames].map((tier) => [tier, quotasOf(name, amountsFor(config, { index, tier }))]))
  return {
    name,
    paths,
    ofTenant: paths.some((path) => path.source === 'facts' && path.steps[0] === 'tenant' && path.steps.length === 1),
    quotas: (tier) => byTier.get(tier) ?? base,
    variants: [base, ...byTier.values()],
  }
}

/** A limit's amounts for a tier: its own, over those for everybody in that tier, over those it has. */
function amountsFor(config: RateLimitConfig, { index, tier }: { index: number; tier: string }): AmountsConfig {
  const limit = config.limits[index] as LimitConfig
  const forAll = Object.hasOwn(config.tiers, tier) ? Object.entries(config.tiers[tier] as AmountsConfig) : []
  const mine = forAll.filter(([name]) => {
    const has = (each: LimitConfig): boolean => each[name as keyof AmountsConfig] !== undefined
    return has(limit) || (index === 0 && !config.limits.some(has))
  })
  const own = Object.hasOwn(limit.tiers, tier) ? limit.tiers[tier] : {}
  return { ...limit, ...Object.fromEntries(mine), ...own }
}

function quotasOf(name: string, amounts: AmountsConfig): Quota[] {
  const quotas: Quota[] = []
  const add = (of: Measure, perMinute: number, capacity: number): void => {
    quotas.push(createQuota(name, of, { perMinute, capacity }))
  }
  const { tokens_per_minute: tokens, requests_per_minute: requests, burst_capacity: burst, concurrent } = amounts
  if (tokens) add('tokens', tokens, burst ?? tokens)
  if (requests) add('requests', requests, (tokens ? amounts.request_burst_capacity : burst) ?? requests)
  if (concurrent) add('concurrent', 0, concurrent)
  return quotas
}

/** Makes a quota of a limit. */
export function createQuota(limit: string, of: Measure, amounts: Pick<Quota, 'perMinute' | 'capacity'>): Quota {
  return { limit, of, ...amounts, ...headerTexts(`${limit}-${of}`, { of, ...amounts }) }
}

const units: Readonly<Record<Measure, string>> = {
  tokens: 'tokens',
  requests: 'requests',
  concurrent: 'concurrent-requests',
}

/** The parts of `RateLimit-Policy` and `RateLimit` that never change (draft-ietf-httpapi-ratelimit-headers, RFC 9651). */
function headerTexts(
  name: string,
  quota: Pick<Quota, 'of' | 'perMinute' | 'capacity'>,
): { policy: string; quoted: string } {
  const parameters = new Map<string, string | number>(
    quota.of === 'concurrent' ? [['q', quota.capacity]] : [['q', quota.perMinute]],
  )
  if (quota.of !== 'concurrent') parameters.set('w', 60)
  parameters.set('qu', units[quota.of])
  return { policy: serializeItem(name, parameters), quoted: serializeItem(name) }
}
