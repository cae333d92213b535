import { expect, it } from 'vitest'
import { createCall } from '../plugins/call.ts'
import { createCallRecord } from './call-record.ts'
import { createCallFold } from './folding/call-fold.ts'
import { endedCallFrom } from './folding/collect/ended-call.ts'
import { shortHash, spanAttributes, unitHash } from './span-attributes.ts'
import { createLightSpan } from './telemetry/light-span.ts'

const startedAt = 1_700_000_000_000
const principal = { id: 'u1', tenant: 'acme', tier: 'free', scopes: [], claims: {}, method: 'jwt' } as const

/** A call of a canary of the layer `prompt` as it is at its end. */
function recordOf() {
  const span = createLightSpan({ traceId: '1'.repeat(32), spanId: '2'.repeat(16), flags: 0 }, undefined, () => {})
  const record = createCallRecord(startedAt, span)
  record.call = createCall({
    ...{ id: 'c1', route: 'chat', now: startedAt, headers: {}, signal: new AbortController().signal },
    facts: { principal },
    body: Buffer.from(
      JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x' }], stream: true, tools: [{}] }),
    ),
  })
  record.firstByteMs = 12
  const stages = new Map([['prompt', 'canary']])
  const fold = Object.assign(createCallFold(), { stages, rollout: 'r1', unit: 't:acme', step: 'S2' as const })
  record.fold = fold
  return { record, fold }
}

it('a call of a rollout tells at its end all that is counted of it', () => {
  const { record } = recordOf()
  const state = { name: 'prompt', status: 'evaporation-accelerating', by: 'runner', buffered: false } as const
  const attrs = spanAttributes({ record, states: [state], arm: 'proving', requestId: 'r-1' })!
  expect(endedCallFrom({ code: 200, source: 'runner', attrs })).toEqual({
    ...{ rollout: 'r1', layer: 'prompt', step: 'S2', tier: 'free', arm: 'canary', startedAt, code: 200 },
    ...{ unit: shortHash('acme'), tenant: shortHash('acme'), error: undefined, shed: false, chosen: false },
    ...{ runner: undefined, firstByteMs: 12, fallback: undefined, atFault: true, mismatch: undefined },
    ...{ unacknowledged: false, broken: undefined },
    kind: { stream: true, tools: true, json: false, size: '1k', cacheHit: false, model: '' },
  })
})

it('a call that fell back tells why, about which layers, and what was wrong', () => {
  const { record, fold } = recordOf()
  fold.reason = 'not-acknowledged'
  fold.unheard(['prompt'])
  Object.assign(fold, { atFault: ['prompt', 'routing'] })
  Object.assign(fold, { chosen: true, mismatch: { kind: 'version', layer: 'prompt' }, broken: ['usage', 'end-mark'] })
  const state = { name: 'prompt', status: 'fallback', by: 'gateway', buffered: false, reason: fold.reason } as const
  const attrs = spanAttributes({ record, states: [state], arm: 'shadow', requestId: 'r-1' })!
  expect(endedCallFrom({ code: 200, source: 'runner', attrs })).toMatchObject({
    ...{ arm: 'canary', fallback: 'not-acknowledged', atFault: true, mismatch: 'version', chosen: true },
    ...{ unacknowledged: true, broken: 'usage end-mark' },
  })
})

it('the unit of a tenant is named as the tenant is; a conversation is not', () => {
  expect(unitHash('t:acme')).toBe(shortHash('acme'))
  expect(unitHash('c:acme')).not.toBe(shortHash('acme'))
  expect(shortHash('acme')).toMatch(/^[\da-f]{16}$/)
})

it('a call that is not split, and that nobody records, tells nothing', () => {
  const { record } = recordOf()
  record.fold = undefined
  expect(spanAttributes({ record, states: [], arm: 'gateway', requestId: 'r-1' })).toBeUndefined()
})

it('a call that is recorded tells its id and what it took; one that is only counted does not', () => {
  const { record } = recordOf()
  const facts = { states: [], arm: 'gateway', requestId: 'r-1' } as const
  expect(spanAttributes({ record, ...facts })).not.toHaveProperty('foldgate.call.id')
  const recorded = Object.create(record, { span: { value: { recording: true } } }) as typeof record
  expect(spanAttributes({ record: recorded, ...facts })).toMatchObject({
    'foldgate.call.id': 'r-1',
    'foldgate.execution_time_us': 12_000,
  })
})
