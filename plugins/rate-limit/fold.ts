import type { FoldSource } from '../host.ts'
import { compilePath, factNames, type Path } from '../path.ts'
import type { RateLimitConfig } from './config.ts'
import type { RateLimitStep } from './step.ts'

/** The limits as data for the runner. Throws `invalid_path` for a key field that is no path. */
export function foldRateLimit(config: RateLimitConfig, { declared }: FoldSource): RateLimitStep {
  const { limits, tiers, cutStreams, leaseMs } = config
  const named = keyPathsOf(config, declared).map(({ steps: [first] }) => String(first))
  const used = [...new Set(named)].filter((name) => declared.has(name)).sort()
  return { limits, tiers, cutStreams, leaseMs, declared: used, asked: [] }
}

/** Why the limits cannot leave the gateway: they count by a fact that stays there. What is no path is a fault of another kind. */
export function staysRateLimit(config: RateLimitConfig): string | undefined {
  const paths = config.limits.flatMap(({ key_fields: fields }) =>
    fields.filter((text) => /^(facts\.)?[a-zA-Z_]+/.test(text)),
  )
  const fact = paths
    .map((text) => text.replace(/^facts\./, '').split(/[.[]/)[0] as string)
    .find((name) => atGatewayOnly.has(name))
  return fact && `a limit counts by facts.${fact}, which is known of a connection to the gateway and does not travel`
}
const atGatewayOnly: ReadonlySet<string> = new Set(['peer', 'peerCertificate'])

/** Claims of the caller that key fields name. */
export function claimsOf(step: RateLimitStep): readonly string[] {
  const names = firstFacts(step, new Set(step.declared))
  return [...new Set(names)].filter((name) => !travelling.has(name))
}
// Members of the principal, and facts, travel under their own names.
const travelling: ReadonlySet<string> = new Set([...factNames, 'method', 'claims'])

function firstFacts(config: Pick<RateLimitConfig, 'limits'>, declared: ReadonlySet<string>): string[] {
  return keyPathsOf(config, declared)
    .filter(({ source }) => source === 'facts')
    .map(({ steps: [first, second] }) => String(first === 'claims' && second !== undefined ? second : first))
}

function keyPathsOf({ limits }: Pick<RateLimitConfig, 'limits'>, declared: ReadonlySet<string>): Path[] {
  return limits.flatMap(({ key_fields: fields }) => fields.map((text) => compilePath(text, declared)))
}
