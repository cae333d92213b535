import { describe, expect, it } from 'vitest'
import { endedCallFrom } from './ended-call.ts'
import { judged } from './judged-call.ts'
import { endOf, type TestEnd } from './test-calls.ts'

const judge = (call: TestEnd) => judged(endedCallFrom(endOf(call))!, 30_000)

describe('a call is bad', () => {
  it.each<[string, TestEnd, string, boolean]>([
    ['when it is answered 500', { code: 500 }, '500', false],
    ['when the runner cannot be reached', { code: 503, error: 'runner_unreachable' }, 'runner_unreachable', false],
    ['when it waited for the runner in vain', { code: 504, error: 'runner_timeout' }, 'runner_timeout', false],
    ['when its stream broke after a head of 200', { code: 200, error: 'runner_error' }, 'runner_error', false],
    ['when the runner spoke otherwise than agreed', { code: 502, error: 'runner_protocol' }, 'runner_protocol', true],
    ['when another version answered', { attrs: { 'foldgate.mismatch': 'version prompt' } }, 'mismatch version', true],
    ['when a layer was left out', { attrs: { 'foldgate.mismatch': 'layer-missing' } }, 'mismatch layer-missing', true],
    ['when the last word is missing', { attrs: { 'foldgate.unacknowledged': 'prompt' } }, 'unacknowledged', true],
    ['when a stream breaks an invariant', { attrs: { 'foldgate.broken': 'one-finish' } }, 'broken one-finish', true],
    ['when its usage does not add up', { attrs: { 'foldgate.broken': 'usage' } }, 'broken usage', true],
    ['when a stream begins too late', { attrs: { 'foldgate.first_byte_ms': 30_001 } }, 'late', false],
  ])('%s', (_, call, signature, failed) => {
    expect(judge(call).bad).toEqual({ signature, failed })
    expect(judge(call).trial).toBe(true)
  })

  it('in the control as well, but for what only the runner’s half can do', () => {
    expect(judge({ arm: 'control', code: 500 }).bad).toEqual({ signature: '500', failed: false })
    expect(judge({ arm: 'control', attrs: { 'foldgate.broken': 'usage' } }).bad?.failed).toBe(false)
    const observed = judge({ arm: 'control', attrs: { 'foldgate.mismatch': 'version prompt' } })
    expect(observed).toMatchObject({ bad: undefined, unknownVersion: true, mismatch: false })
  })
})

describe('a call is not bad', () => {
  it.each<[string, TestEnd, string | undefined]>([
    ['when its caller went away', { code: 499, error: 'client_closed' }, 'aborted'],
    ['when its caller went away in a stream', { code: 499, attrs: { 'foldgate.broken': 'end-mark' } }, 'aborted'],
    ['when it is refused', { code: 401, error: 'unauthenticated' }, 'refused'],
    ['when the runner refused it, which is passed on', { code: 404, error: 'runner_error' }, 'refused'],
    ['when it is limited', { code: 429, error: 'rate_limited' }, 'limited'],
    ['when its answer is all right', {}, undefined],
    ['when the gateway is told to leave', { code: 503, error: 'draining' }, undefined],
    ['when load was shed with its leave', { code: 503, source: 'shed' }, undefined],
    [
      'when a document takes its time',
      { attrs: { 'foldgate.stream': false, 'foldgate.first_byte_ms': 90_000 } },
      undefined,
    ],
    ['when another layer’s word is missing', { attrs: { 'foldgate.unacknowledged': 'postprocess' } }, undefined],
    ['when another layer was left out', { attrs: { 'foldgate.mismatch': 'layer-missing auth' } }, undefined],
    ['when its caller had the gateway do it, which failed', { fallback: 'debug_force', code: 500 }, undefined],
    ['when its caller chose the side', { code: 500, attrs: { 'foldgate.chosen': true } }, undefined],
  ])('%s', (_, call, event) => {
    expect(judge(call)).toMatchObject({ bad: undefined, event, unknownVersion: false, mismatch: false })
  })
})

describe('a fallback', () => {
  it('is evidence when the runner caused it', () => {
    expect(judge({ fallback: 'runner-error' })).toMatchObject({ evidence: true, excused: false, trial: true })
  })

  it('that an unknown word explains is the runner’s', () => {
    expect(judge({ fallback: 'strange' }).evidence).toBe(true)
  })

  it('is none when another layer’s fault took the layer along', () => {
    const attrs = { 'foldgate.fallback.layers': 'routing' } as const
    expect(judge({ fallback: 'runner-error', attrs })).toMatchObject({ evidence: false, excused: true })
    const both = { 'foldgate.fallback.layers': 'routing prompt' } as const
    expect(judge({ fallback: 'runner-error', attrs: both }).evidence).toBe(true)
  })

  it.each(['debug_force', 'schema-keyword', 'deadline', 'operator-disabled'])('is none for %s', (fallback) => {
    expect(judge({ fallback })).toMatchObject({ evidence: false, excused: true, trial: false })
  })
})

it('a call that was not drawn is none', () => {
  expect(endedCallFrom({ code: 200, source: 'runner' })).toBeUndefined()
  expect(endedCallFrom(endOf({ attrs: { 'foldgate.unit': undefined } }))).toBeUndefined()
  expect(endedCallFrom(endOf({ attrs: { 'foldgate.moving': undefined } }))).toBeUndefined()
})

it('what fell back belongs to the arm that it was drawn into', () => {
  expect(endedCallFrom(endOf({ fallback: 'runner-timeout' }))?.arm).toBe('canary')
  expect(endedCallFrom(endOf({ arm: 'control' }))?.arm).toBe('control')
})
