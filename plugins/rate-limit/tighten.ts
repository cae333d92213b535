import { canonicalDigest } from '../canonical.ts'
import type { Directives } from '../directives.ts'
import { type GatewayError, gatewayError } from '../errors.ts'
import type { AskedConfig } from './asked.ts'
import { most } from './config.ts'
import { limitsFromConfig } from './limits.ts'
import { limitsFromStep, type RateLimitStep } from './step.ts'

const amounts = ['tokens_per_minute', 'burst_capacity', 'requests_per_minute'] as const
const members: ReadonlySet<string> = new Set([...amounts, 'key_fields'])

/**
 * The step with what a caller asks under `rate_limit`, or under `auth` beside what auth reads there: to be held to less than the
 * limit whose `key_fields` it names, else the first. What is not lower changes nothing. Throws `invalid_request` naming the directive.
 */
export function tightenRateLimit(step: RateLimitStep, directives: Directives): RateLimitStep {
  const wishes = [
    ...wishesIn(directives.rate_limit, 'rate_limit', step),
    ...wishesIn(directives.auth, 'auth', step),
  ].filter((each) => limitsFromStep({ ...step, asked: [each] }).length > step.limits.length)
  if (wishes.length === 0) return step
  const asked = new Map([...step.asked, ...wishes].map((each) => [canonicalDigest(each), each]))
  return { ...step, asked: [...asked.values()] }
}

function wishesIn(
  said: Readonly<Record<string, unknown>> | undefined,
  member: 'auth' | 'rate_limit',
  step: RateLimitStep,
): AskedConfig[] {
  if (said === undefined) return []
  const at = (name: string): string => `execution_context.${member}.${name}`
  // Under auth the other members are for the auth layer to judge.
  const unknown = member === 'auth' ? undefined : Object.keys(said).find((name) => !members.has(name))
  if (unknown !== undefined) throw invalid(at(unknown), `is not known; known: ${[...members].join(', ')}`)
  const fields = keyFieldsFrom(said['key_fields'], at('key_fields'))
  const wish = Object.fromEntries(
    amounts.filter((name) => said[name] !== undefined).map((name) => [name, amountFrom(said[name], at(name))]),
  )
  if (Object.keys(wish).length === 0) return []
  return [{ limit: limitMeant(step, fields), ...wish }]
}

function limitMeant(step: RateLimitStep, fields: readonly string[] | undefined): string {
  const sorted = JSON.stringify(fields?.toSorted())
  const index = step.limits.findIndex(({ key_fields: own }) => JSON.stringify(own.toSorted()) === sorted)
  const limit = limitsFromConfig(step, new Set(step.declared))[Math.max(0, index)]
  return limit?.name ?? ''
}

function amountFrom(value: unknown, field: string): number {
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= most) return value as number
  throw invalid(field, `must be a whole number from 1 to ${most}`)
}

function keyFieldsFrom(value: unknown, field: string): readonly string[] | undefined {
  if (value === undefined) return undefined
  if (Array.isArray(value) && value.length <= 8 && value.every((each) => typeof each === 'string')) return value
  throw invalid(field, 'must be a list of at most 8 names')
}

function invalid(field: string, message: string): GatewayError {
  return gatewayError('invalid_request', `${field}: ${message}`, { field })
}
