import { describe, expect, it } from 'vitest'
import { fallbackCauses, isEvidence } from './execution-context-fallback.ts'
import {
  type ContextRefusal,
  fallbackReasonFromRefusal,
  problemFromRefusal,
  type RefusalCode,
  refusalFromProblem,
  refusalKinds,
} from './execution-context-refusal.ts'

/** Code, status and fallback reason, as the protocol lists them. */
const table: readonly [RefusalCode, number, string][] = [
  ['missing', 401, 'context-refused'],
  ['too-large', 413, 'context-too-large'],
  ['invalid', 400, 'context-refused'],
  ['signature', 401, 'signature'],
  ['audience', 401, 'audience'],
  ['expired', 401, 'expired'],
  ['body', 400, 'body-mismatch'],
  ['replay', 409, 'replay'],
  ['no-capacity', 503, 'no-capacity'],
  ['credential', 401, 'context-refused'],
  ['policy-unknown', 428, 'policy-unknown'],
]
const refusals: readonly [ContextRefusal, number, string][] = [
  ...table.map(
    ([code, status, reason]) => [{ code, detail: `why ${code}` }, status, reason] as [ContextRefusal, number, string],
  ),
  [{ code: 'unsupported', detail: 'no', layer: 'cache', reason: 'unsupported-layer' }, 422, 'unsupported-layer'],
  [{ code: 'unsupported', detail: 'no', layer: 'cache', reason: 'unsupported-version' }, 422, 'unsupported-version'],
]

describe('a context refusal', () => {
  it('has a row for every code', () => {
    expect(new Set(refusals.map(([{ code }]) => code))).toEqual(new Set(Object.keys(refusalKinds)))
  })

  it.each(refusals)('$0.code is answered $1 and falls back for $2', (refusal, status, reason) => {
    const answer = problemFromRefusal(refusal)
    expect([answer.status, fallbackReasonFromRefusal(refusal)]).toEqual([status, reason])
    expect(JSON.parse(answer.body)).toMatchObject({ type: `urn:foldgate:exec-ctx-${refusal.code}`, status })
    expect(answer.headers['www-authenticate']).toBe(status === 401 ? 'Execution-Context' : undefined)
    expect(Object.keys(fallbackCauses)).toContain(reason)
  })

  it.each(refusals)('$0.code survives the wire', (refusal) => {
    const { status, headers, body } = problemFromRefusal(refusal)
    expect(refusalFromProblem(status, headers['content-type'], Buffer.from(body))).toEqual(refusal)
    expect(refusalFromProblem(status, 'Application/Problem+JSON; charset=utf-8', Buffer.from(body))).toEqual(refusal)
  })

  it.each<[string, number, string | undefined, string]>([
    ['the runner’s own 401', 401, 'application/json', '{"error":{"code":"unauthenticated"}}'],
    [
      'another status than the problem says',
      500,
      'application/problem+json',
      problemFromRefusal({ code: 'replay', detail: '' }).body,
    ],
    [
      'a problem of another status than its code',
      409,
      'application/problem+json',
      '{"type":"urn:foldgate:exec-ctx-replay","title":"t","status":401}',
    ],
    [
      'another status than the code has',
      409,
      'application/problem+json',
      '{"type":"urn:foldgate:exec-ctx-body","title":"t","status":409}',
    ],
    ['another media type', 409, 'application/json', problemFromRefusal({ code: 'replay', detail: '' }).body],
    ['no media type', 409, undefined, problemFromRefusal({ code: 'replay', detail: '' }).body],
    ['another problem', 401, 'application/problem+json', '{"type":"about:blank","title":"t","status":401}'],
    [
      'an inherited name',
      400,
      'application/problem+json',
      '{"type":"urn:foldgate:exec-ctx-constructor","title":"t","status":400}',
    ],
    [
      'an unsupported that names no reason',
      422,
      'application/problem+json',
      '{"type":"urn:foldgate:exec-ctx-unsupported","title":"t","status":422}',
    ],
    [
      'a problem with a member more',
      409,
      'application/problem+json',
      '{"type":"urn:foldgate:exec-ctx-replay","title":"t","status":409,"x":1}',
    ],
    ['no JSON', 409, 'application/problem+json', '{'],
    [
      'a problem without end',
      409,
      'application/problem+json',
      `{"type":"urn:foldgate:exec-ctx-replay","title":"t","status":409}${' '.repeat(8_192)}`,
    ],
  ])('%s is the runner’s answer', (_, status, type, body) => {
    expect(refusalFromProblem(status, type, Buffer.from(body))).toBeUndefined()
  })
})

describe('fallback reasons', () => {
  it('only what the runner causes is evidence', () => {
    const evidence = Object.keys(fallbackCauses).filter((reason) => isEvidence(reason as keyof typeof fallbackCauses))
    expect(evidence).toHaveLength(16)
    expect(evidence).not.toContain('context-too-large')
    expect(evidence).not.toContain('operator-disabled')
  })

  it('what a caller can bring about by the size of its context is no evidence', () => {
    expect(isEvidence(fallbackReasonFromRefusal({ code: 'too-large', detail: '' }))).toBe(false)
  })

  it('every reason is lower case and fits a token of RFC 9651', () => {
    for (const reason of Object.keys(fallbackCauses)) expect(reason).toMatch(/^[a-z][a-z_-]*$/)
  })
})
