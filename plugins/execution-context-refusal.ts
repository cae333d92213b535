import type { FallbackReason } from './execution-context-fallback.ts'
import { createSchema, type JsonSchema } from './schema.ts'

/** How a runner says that it does not take a context: status, title, and the reason the gateway then falls back for. */
export interface RefusalKind {
  readonly status: number
  readonly title: string
  /** Absent where the refusal itself carries which of two it is. */
  readonly reason?: FallbackReason
}

/** Every context refusal, by code. Only these lead to a fallback; every other status is the runner's answer. */
export const refusalKinds = {
  missing: { status: 401, title: 'No execution context', reason: 'context-refused' },
  'too-large': { status: 413, title: 'The execution context is too large', reason: 'context-too-large' },
  invalid: { status: 400, title: 'The execution context is not valid', reason: 'context-refused' },
  signature: { status: 401, title: 'The signature is not valid', reason: 'signature' },
  audience: { status: 401, title: 'The execution context is for another instance', reason: 'audience' },
  expired: { status: 401, title: 'The execution context is not valid at this time', reason: 'expired' },
  body: { status: 400, title: 'The body is not the one that was signed for', reason: 'body-mismatch' },
  replay: { status: 409, title: 'The execution context was used before', reason: 'replay' },
  'no-capacity': { status: 503, title: 'No room to remember the execution context', reason: 'no-capacity' },
  credential: { status: 401, title: 'The credential is not the one that was signed for', reason: 'context-refused' },
  'policy-unknown': { status: 428, title: 'The policy is not known here', reason: 'policy-unknown' },
  unsupported: { status: 422, title: 'A named layer cannot be executed here' },
} as const satisfies Record<string, RefusalKind>

/** A code of the closed table above. */
export type RefusalCode = keyof typeof refusalKinds

/** Which of the two an `unsupported` is. */
export type UnsupportedReason = 'unsupported-layer' | 'unsupported-version'

/** Why a context was refused. */
export interface ContextRefusal {
  readonly code: RefusalCode
  /** What was wrong, in words, without secrets. */
  readonly detail: string
  /** `unsupported` only. */
  readonly reason?: UnsupportedReason
  /** `unsupported` only: the layer at fault. */
  readonly layer?: string
}

/** A refusal as an HTTP answer. */
export interface ProblemAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** What stands before the code in a problem's `type`. */
export const problemTypePrefix = 'urn:foldgate:exec-ctx-'

const problemType = 'application/problem+json'
/** Longest problem that is read, in bytes. */
const maxProblemBytes = 4_096

/** A refusal as published: problem details (RFC 9457), extended by the layer and the reason of an `unsupported`. */
export const problemSchema: JsonSchema = {
  title: 'Context refusal',
  type: 'object',
  additionalProperties: false,
  required: ['type', 'title', 'status'],
  properties: {
    type: { enum: Object.keys(refusalKinds).map((code) => `${problemTypePrefix}${code}`) },
    title: { type: 'string', maxLength: 256 },
    status: { type: 'integer', enum: [...new Set(Object.values(refusalKinds).map(({ status }) => status))] },
    detail: { type: 'string', maxLength: 1_024 },
    layer: { type: 'string', pattern: '^[a-z][a-z0-9-]{0,31}$' },
    reason: { enum: ['unsupported-layer', 'unsupported-version'] },
  },
}
const problems = createSchema<Problem>(problemSchema)

interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail?: string
  readonly layer?: string
  readonly reason?: UnsupportedReason
}

/** The reason the gateway falls back for after this refusal. */
export function fallbackReasonFromRefusal(refusal: ContextRefusal): FallbackReason {
  const kind: RefusalKind = refusalKinds[refusal.code]
  return kind.reason ?? refusal.reason ?? 'unsupported-layer'
}

/** A refusal as `application/problem+json` (RFC 9457). A 401 says how to authenticate (RFC 9110 §11.6.1). */
export function problemFromRefusal({ code, detail, layer, reason }: ContextRefusal): ProblemAnswer {
  const { status, title } = refusalKinds[code]
  const body: Problem = {
    type: `${problemTypePrefix}${code}`,
    title,
    status,
    detail: detail.slice(0, 1_024),
    ...(layer === undefined ? {} : { layer }),
    ...(reason === undefined ? {} : { reason }),
  }
  const headers = {
    'content-type': problemType,
    ...(status === 401 ? { 'www-authenticate': 'Execution-Context' } : {}),
    ...(status === 503 ? { 'retry-after': '1' } : {}),
  }
  return { status, headers, body: JSON.stringify(body) }
}

/**
 * The refusal that a runner's answer is; undefined when it is the runner's answer to the call. Status, media type and problem must agree,
 * so that an engine's own 401 or 503 is never taken for one.
 */
export function refusalFromProblem(
  status: number,
  contentType: string | undefined,
  body: Buffer,
): ContextRefusal | undefined {
  if (contentType?.split(';')[0]?.trim().toLowerCase() !== problemType || body.length > maxProblemBytes)
    return undefined
  const problem = problemFromBody(body)
  if (problem?.status !== status) return undefined
  const code = problem.type.slice(problemTypePrefix.length) as RefusalCode
  if (refusalKinds[code].status !== status || (code === 'unsupported') !== (problem.reason !== undefined))
    return undefined
  const { detail = '', layer, reason } = problem
  return { code, detail, ...(layer === undefined ? {} : { layer }), ...(reason === undefined ? {} : { reason }) }
}

function problemFromBody(body: Buffer): Problem | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return problems.faults(value).length === 0 ? (value as Problem) : undefined
  } catch {
    return undefined
  }
}
