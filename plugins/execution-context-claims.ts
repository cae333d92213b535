import { clockSkewSeconds, contextLifetime } from './execution-context.ts'
import type { ContextRefusal } from './execution-context-refusal.ts'
import type { JsonObject } from './jws-json.ts'

/** For whom and when a token must be. */
export interface ClaimsExpected {
  /** The instance's own boot id. */
  readonly aud: string
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** What is wrong with audience, then with times, of a payload whose signature holds; undefined when nothing is. */
export function claimsRefusal(payload: JsonObject, expected: ClaimsExpected): ContextRefusal | undefined {
  if (payload['aud'] !== expected.aud) return { code: 'audience', detail: 'aud is not the boot id of this instance' }
  const detail = timesFault(payload['iat'], payload['exp'], expected.now / 1_000)
  return detail === undefined ? undefined : { code: 'expired', detail }
}

function timesFault(iat: unknown, exp: unknown, now: number): string | undefined {
  if (!Number.isSafeInteger(iat) || !Number.isSafeInteger(exp)) return 'iat and exp are not whole seconds'
  const [from, until] = [iat as number, exp as number]
  if (until <= from) return 'exp is not after iat'
  if (until - from > contextLifetime.maxSeconds) return `exp is more than ${contextLifetime.maxSeconds} s after iat`
  if (from > now + clockSkewSeconds) return 'iat is in the future'
  return now >= until + clockSkewSeconds ? 'exp is past' : undefined
}
