import type { Directives } from '../directives.ts'
import { type GatewayError, gatewayError } from '../errors.ts'
import type { AuthStep } from './step.ts'

// What belongs to the rate limit may be said here too.
const limitMembers: ReadonlySet<string> = new Set([
  'tokens_per_minute',
  'burst_capacity',
  'requests_per_minute',
  'key_fields',
])
const scope = /^[\x21\x23-\x5b\x5d-\x7e]{1,128}$/
const most = 32

/**
 * The step with the scopes that a caller asks for beside the configured ones. `jwt_payload_fields` is taken for what it is, a wish for
 * claims that are handed on anyway: leaving one out would move the caller into another count. Throws `invalid_request` naming the directive.
 */
export function tightenAuth(step: AuthStep, { auth }: Directives): AuthStep {
  if (auth === undefined) return step
  for (const name of Object.keys(auth)) {
    if (name !== 'required_scopes' && name !== 'jwt_payload_fields' && !limitMembers.has(name))
      throw invalid(name, 'is not known; known: required_scopes, jwt_payload_fields')
  }
  const fields = listFrom(auth['jwt_payload_fields'], 'jwt_payload_fields', () => true)
  const strange = fields.find((name) => !step.jwt_payload_fields.includes(name))
  if (strange !== undefined) throw invalid('jwt_payload_fields', `"${strange.slice(0, 64)}" is not a configured field`)
  const scopes = listFrom(auth['required_scopes'], 'required_scopes', (each) => scope.test(each))
  const added = [...new Set(scopes)].filter((each) => !step.required_scopes.includes(each)).sort()
  return added.length === 0 ? step : { ...step, required_scopes: [...step.required_scopes, ...added] }
}

function listFrom(value: unknown, name: string, right: (each: string) => boolean): readonly string[] {
  if (value === undefined) return []
  const fits =
    Array.isArray(value) && value.length <= most && value.every((each) => typeof each === 'string' && right(each))
  if (!fits) throw invalid(name, `must be a list of at most ${most} names`)
  return value
}

function invalid(name: string, message: string): GatewayError {
  const field = `execution_context.auth.${name}`
  return gatewayError('invalid_request', `${field}: ${message}`, { field })
}
