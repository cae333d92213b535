import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { attributeNames } from '../../proxy/telemetry/gen-ai.ts'
import { noteMove } from '../../proxy/telemetry/move-span.ts'
import { createTracing, type Tracing } from '../../proxy/telemetry/tracing.ts'
import { startSpanCollector } from '../e2e/span-collector.ts'
import { until } from '../support/gate.ts'
import { collectorFaults, collectorFile, collectorProgram, startCollector } from './collector-process.ts'

if (collectorProgram === undefined)
  console.warn('no collector in OTELCOL or JAEGER, nor on the PATH: grafana/collector.yaml is looked at, but not run')

interface Policy {
  readonly name: string
  readonly type: string
  readonly string_attribute?: { readonly key: string; readonly values: readonly string[] }
}

const config = parse(readFileSync(collectorFile, 'utf8'))
const { policies } = config.processors.tail_sampling as { readonly policies: readonly Policy[] }

describe('the configuration of a collector', () => {
  it('puts to use all that it defines, and defines all that it uses', () => {
    const { receivers, processors, exporters } = config.service.pipelines.traces
    expect(Object.keys(config.receivers)).toEqual(receivers)
    expect(Object.keys(config.processors)).toEqual(processors)
    expect(Object.keys(config.exporters)).toEqual(exporters)
    expect(config.receivers.otlp.protocols).toHaveProperty('http')
  })

  it('keeps failures, fallbacks, moves and slow calls, and looks only at attributes that are exported', () => {
    expect(policies.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['status_code', 'latency', 'probabilistic']),
    )
    const keys = policies.flatMap(({ string_attribute: of }) => (of ? [of.key] : []))
    expect(keys).toEqual(expect.arrayContaining(['foldgate.fallback.reason', 'foldgate.moved.to']))
    const known: readonly string[] = Object.values(attributeNames)
    expect(keys.filter((key) => !known.includes(key))).toEqual([])
  })
})

const start = { route: 'chat', method: 'POST', path: '/v1/chat/completions' } as const
const fine = { code: 200, source: 'runner' } as const

/** One call of each kind that is to be kept, by the name of its policy. */
function callsToKeep(tracing: Tracing): Map<string, string> {
  const begun = (startMs = performance.now()) => tracing.begin({ ...start, startMs })
  const [failed, fellBack, slow, silent, odd] = [begun(), begun(), begun(performance.now() - 11_000), begun(), begun()]
  failed.end({ code: 502, source: 'gateway', error: 'runner_error' })
  fellBack.end({ ...fine, attrs: { 'foldgate.fallback.reason': 'runner-timeout' } })
  slow.end(fine)
  silent.end({ ...fine, attrs: { 'foldgate.unacknowledged': 'prompt' } })
  odd.end({ ...fine, attrs: { 'foldgate.broken': 'end-mark' } })
  const names = { errors: failed, fallbacks: fellBack, slow, unacknowledged: silent, broken: odd }
  return new Map(Object.entries(names).map(([name, { traceId }]) => [traceId, name]))
}

describe.skipIf(collectorProgram === undefined)('a real collector', { timeout: 60_000 }, () => {
  it('finds no fault in it', () => {
    expect(collectorFaults(collectorFile)).toBe('')
  })

  it('keeps with it what it says, and of the rest a small part', async () => {
    await using store = await startSpanCollector()
    await using collector = await startCollector(store.url)
    const options = { version: '0', onDropped: () => {}, environment: {}, delayMs: 1 }
    const tracing = await createTracing(
      { otlpEndpoint: collector.url, sampleRatio: 1, serviceName: 'foldgate' },
      options,
    )
    const kept = callsToKeep(tracing)
    for (let call = 0; call < 400; call++) tracing.begin(start).end(fine)
    const move = { at: 0, layer: 'cache', actor: 'foldgate', reason: 'errors' }
    const [from, to] = [
      { stage: 'canary', weight: 10 },
      { stage: 'rolled-back', weight: 0 },
    ] as const
    noteMove(tracing, { ...move, from, to } as Parameters<typeof noteMove>[1])
    await tracing.close()
    const rollback = () => store.spans().find(({ name }) => name === 'rollback cache')
    const found = () => new Set(store.spans().flatMap(({ traceId }) => kept.get(traceId) ?? []))
    await until(
      () => rollback() !== undefined && found().size === kept.size,
      () => `${[...found()]} come through`,
      20_000,
    )
    const others = store.spans().filter(({ traceId }) => !kept.has(traceId)).length - 1
    // Of 400 at 5 %, but for a chance of one in a million.
    expect(others).toBeLessThan(45)
  })
})
