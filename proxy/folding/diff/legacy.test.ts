import { describe, expect, it } from 'vitest'
import { gatewayError } from '../../../plugins/errors.ts'
import { pass, refuse } from '../../../plugins/verdict.ts'
import { completionBody } from '../../../test/support/chat-replies.ts'
import type { Answer } from './answer.ts'
import { createLegacyAgreement, type LegacyCall } from './legacy-agreement.ts'
import { type LayerSaid, legacyFindings, saidFromVerdict } from './legacy-finding.ts'
import { textFromLegacyReport } from './legacy-text.ts'
import { plainStrata } from './test-comparisons.ts'

const ok: Answer = { status: 200, headers: { 'content-type': 'application/json' }, body: completionBody('hello') }
const denied = (status: number, headers = {}): Answer => ({ status, headers, body: { error: { message: 'no' } } })
const passing: LayerSaid = { kind: 'pass' }
const refusing = (status: number): LayerSaid => ({ kind: 'refuse', status, code: 'x' })
const all = {
  auth: passing,
  'rate-limit': passing,
  cache: passing,
  routing: { kind: 'pass', model: 'rig-model' },
  prompt: passing,
  postprocess: passing,
} as const
const verdictsOf = (findings: ReturnType<typeof legacyFindings>) =>
  Object.fromEntries(
    Object.entries(findings).map(([layer, each]) => [layer, each.verdict === 'skipped' ? each.reason : each.verdict]),
  )

describe('legacyFindings()', () => {
  it('agrees in every layer when both answer the same', () => {
    expect(verdictsOf(legacyFindings({ legacy: ok, ours: ok, verdicts: all }))).toEqual({
      auth: 'equal',
      'rate-limit': 'equal',
      cache: 'no-essence',
      routing: 'equal',
      prompt: 'equal',
      postprocess: 'equal',
      answer: 'equal',
    })
  })

  it('needs no answer of ours for what layers say before it', () => {
    expect(verdictsOf(legacyFindings({ legacy: ok, verdicts: all }))).toEqual({
      auth: 'equal',
      'rate-limit': 'equal',
      cache: 'no-essence',
      routing: 'equal',
      prompt: 'no-essence',
      postprocess: 'no-essence',
      answer: 'equal',
    })
  })

  it('finds a caller let in who is refused now, and one refused who is let in now', () => {
    const allowed = legacyFindings({ legacy: denied(401), verdicts: all })
    expect(allowed['auth']).toMatchObject({ differences: [{ f1: 'auth-false-allow', codes: ['401', ''] }] })
    expect(verdictsOf(allowed)).toMatchObject({
      'rate-limit': 'not-reached',
      routing: 'not-reached',
      answer: 'differs',
    })
    const refused = legacyFindings({ legacy: ok, verdicts: { auth: refusing(403) } })
    expect(refused['auth']).toMatchObject({
      differences: [{ kind: 'verdict', kinds: ['pass', 'refuse'], codes: ['200', '403'] }],
    })
    expect(verdictsOf(legacyFindings({ legacy: denied(401), verdicts: { auth: refusing(401) } }))).toEqual({
      auth: 'equal',
      answer: 'equal',
    })
    expect(verdictsOf(legacyFindings({ legacy: denied(404), verdicts: { auth: refusing(401) } }))).toMatchObject({
      auth: 'not-reached',
    })
  })

  it('compares limits, and their headers where both have them', () => {
    expect(legacyFindings({ legacy: denied(429), verdicts: all })['rate-limit']).toMatchObject({
      differences: [{ kinds: ['refuse', 'pass'] }],
    })
    const limits = (limit: string) => ({ 'x-ratelimit-limit-requests': limit })
    const ours: Answer = { ...ok, headers: limits('9') }
    expect(legacyFindings({ legacy: { ...ok, headers: limits('9') }, ours, verdicts: all })['rate-limit']).toEqual({
      verdict: 'equal',
    })
    expect(
      legacyFindings({ legacy: { ...ok, headers: limits('8') }, ours, verdicts: all })['rate-limit'],
    ).toMatchObject({
      differences: [{ path: 'headers.x-ratelimit-limit-requests', class: 'H' }],
    })
    const said = saidFromVerdict(refuse(gatewayError('rate_limited', 'slow down', { retryAfterMs: 3_000 })))
    const late = denied(429, { 'retry-after': '9' })
    expect(
      legacyFindings({ legacy: late, verdicts: { auth: passing, 'rate-limit': said } })['rate-limit'],
    ).toMatchObject({
      differences: [{ path: 'headers.retry-after' }],
    })
  })

  it('tells a hit from a miss under the names that gateways use, as no fault of the rule', () => {
    const hit = (headers: Answer['headers'], cache: LayerSaid = { kind: 'answer' }) =>
      legacyFindings({ legacy: { ...ok, headers }, verdicts: { cache } })['cache']
    for (const headers of [
      { 'cache-status': 'x; hit' },
      { 'x-cache': 'HIT from a' },
      { 'x-cache-hit': 'true' },
      { 'x-portkey-cache-status': 'HIT' },
    ]) {
      expect(hit(headers as Answer['headers'])).toEqual({ verdict: 'equal' })
    }
    expect(hit({ 'x-cache': 'MISS' }, passing)).toEqual({ verdict: 'equal' })
    expect(hit({ 'x-cache': 'MISS' })).toMatchObject({ differences: [{ class: 'S', kinds: ['miss', 'hit'] }] })
  })

  it('blames routing for the model, prompt for its tokens, and postprocess for the rest', () => {
    const ours: Answer = {
      ...ok,
      body: completionBody('hello', {
        model: 'other',
        object: 'thing',
        usage: { prompt_tokens: 8, completion_tokens: 3, total_tokens: 11 },
      }),
    }
    const findings = legacyFindings({
      legacy: ok,
      ours,
      verdicts: { ...all, routing: { kind: 'pass', model: 'other' } },
    })
    const pathsOf = (layer: string) => {
      const finding = findings[layer]
      return finding?.verdict === 'differs' ? finding.differences.map(({ path }) => path) : []
    }
    expect(pathsOf('routing')).toEqual(['body.model'])
    expect(pathsOf('prompt')).toEqual(['body.usage.prompt_tokens'])
    expect(pathsOf('postprocess')).toEqual(['body.object', 'body.usage.total_tokens'])
  })

  it('takes a provider before a model and a day behind it for the same model', () => {
    const legacy = { ...ok, body: completionBody('x', { model: 'openai/gpt-4o-2024-08-06' }) }
    expect(legacyFindings({ legacy, verdicts: { routing: { kind: 'pass', model: 'gpt-4o' } } })['routing']).toEqual({
      verdict: 'equal',
    })
  })

  it('compares nothing with a chain that has failed', () => {
    expect(verdictsOf(legacyFindings({ legacy: denied(502), verdicts: all }))).toEqual(
      Object.fromEntries([...Object.keys(all), 'answer'].map((layer) => [layer, 'failed'])),
    )
  })

  it('reads verdicts of ours', () => {
    expect(saidFromVerdict(pass())).toEqual({ kind: 'pass' })
    expect(saidFromVerdict(pass({ target: [{ runner: 'r', model: 'm' }] }))).toEqual({ kind: 'pass', model: 'm' })
    expect(saidFromVerdict(refuse(gatewayError('forbidden', 'no')))).toMatchObject({
      kind: 'refuse',
      code: 'forbidden',
      status: 403,
    })
  })
})

describe('the agreement with the existing chain', () => {
  const callOf = (at: number, more: Partial<LegacyCall>): LegacyCall => ({
    call: `c${at}`,
    tier: 'free',
    strata: plainStrata,
    at,
    legacy: ok,
    ours: ok,
    verdicts: all,
    ...more,
  })
  const filled = () => {
    const agreement = createLegacyAgreement(0)
    for (let at = 0; at < 98; at++) agreement.add(callOf(at, {}))
    agreement.add(callOf(98, { legacy: denied(401) }))
    agreement.add(callOf(99, { legacy: denied(503) }))
    return agreement.report(3_600_000)
  }

  it('is counted by layer and by status', () => {
    const report = filled()
    expect(report).toMatchObject({ calls: 100, statuses: { '2xx→2xx': 98, '401→2xx': 1, '5xx→2xx': 1 } })
    expect(report.layers['auth']).toMatchObject({
      compared: 99,
      agrees: 98,
      hard: 1,
      f1: { 'auth-false-allow': 1 },
      skipped: { failed: 1 },
    })
    expect(report.layers['auth']?.agreement).toBeCloseTo(98 / 99)
    expect(report.layers['cache']).toMatchObject({ compared: 0, agreement: undefined })
    expect(report.layers['auth']?.signatures[0]?.exemplars).toMatchObject([{ call: 'c98' }])
  })

  it('can be read as text', () => {
    const text = textFromLegacyReport(filled())
    expect(text).toContain('100 calls served by the existing chain, 1970-01-01 00:00 to 1970-01-01 01:00')
    expect(text).toMatch(/^auth +99 +98 +98\.98 % +1 +1 failed$/m)
    expect(text).toMatch(/^cache +0 +0 +- +0 /m)
    expect(text).toContain('  401→2xx      1')
    expect(text).toContain('1 × H verdict at kind: refuse → pass (401 → -) auth-false-allow, such as c98')
    expect(text).not.toMatch(/hello|[ \t]$/m)
  })

  it('says that all agrees when it does', () => {
    const agreement = createLegacyAgreement(0)
    agreement.add(callOf(1, {}))
    const text = textFromLegacyReport(agreement.report(1))
    expect(text).toContain('every status agrees')
    expect(text).not.toContain('differs')
  })
})
