import type { ContextRefusal } from '../plugins/execution-context-refusal.ts'
import type { Execution } from './execution.ts'
import { createKeyCheck } from './key.ts'
import { contextHeader } from './opened-call.ts'
import { isRefusal } from './refusal.ts'
import type { Route } from './routes/route.ts'

/** A request before its body is read. */
export interface Arriving {
  /** Absent where there is no such endpoint. */
  readonly route: Route | undefined
  readonly url: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

/** Lets a request in; gives back the refusal of one that lacks its context. Throws `invalid_api_key`. */
export type Admission = (arriving: Arriving) => ContextRefusal | undefined

/**
 * Who may ask: `/healthz/*` everybody. Whoever bears a context or signs otherwise is checked by that. With signing keys, what makes tokens
 * is open to nobody else but the holder of the API key, unless plain calls are allowed. The rest needs the API key, where there is one.
 */
export function createAdmission(
  apiKey: string | undefined,
  { keyed, allowPlain }: Pick<Execution, 'keyed' | 'allowPlain'>,
): Admission {
  const checkKey = createKeyCheck(apiKey)
  const hasKey = (authorization: string | undefined): boolean => {
    if (apiKey === undefined) return false
    try {
      checkKey(authorization)
      return true
    } catch (error) {
      if (isRefusal(error)) return false
      throw error
    }
  }
  return ({ route, url, headers }) => {
    if (url.startsWith('/healthz/')) return undefined
    const authorization = headers['authorization'] as string | undefined
    if (route?.signed && keyed) return undefined
    if (route?.executes && headers[contextHeader] !== undefined) return undefined
    const guarded = keyed && !allowPlain && route?.executes !== undefined && route.method === 'POST'
    if (!guarded) checkKey(authorization)
    else if (!hasKey(authorization))
      return { code: 'missing', detail: 'neither an execution context nor the API key of this runner came' }
    return undefined
  }
}
