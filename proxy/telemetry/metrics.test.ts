import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { costOf } from './cost.support.ts'
import { metricTable } from './metric-table.ts'
import { createMetrics, type Metrics } from './metrics.ts'

const layers = ['auth', 'rate-limit', 'cache', 'routing', 'prompt', 'postprocess']
const create = () => createMetrics({ version: '1.2.3', commit: 'abc123', layers })

const ended = {
  route: 'chat',
  code: 200,
  source: 'runner',
  arm: 'gateway',
  seconds: 0.3,
} as const

async function lines(metrics: Metrics, accept?: string): Promise<string[]> {
  const { body } = await metrics.text(accept)
  return body.split('\n')
}

const used = { input: 100, output: 10, cached: 40 }

/** One of each thing, so that every family has a series. */
function exercise(metrics: Metrics): void {
  metrics.begun()
  metrics.ended({ ...ended, overheadSeconds: 0.002, ttftSeconds: 0.07 })
  metrics.layer('auth', 'request', 0.0001)
  metrics.layerStatus('auth', 'active', 'gateway')
  metrics.tokens('input', 12)
  metrics.count('cache.hash-field-absent')
  metrics.runnersAvailable(() => [['gpu-a', true]])
  metrics.dropped('traces', 3)
  metrics.fallback('cache', 'runner-error')
  metrics.unacknowledged('postprocess')
  metrics.shadowCompared('answer', 'equal')
  metrics.behaviourDrift('gpu-a', 'm', 0.1)
  metrics.decided('cache', 'hold')
  metrics.rolledBack('cache', 'operator')
  metrics.promoted('cache')
  metrics.rollouts(() => [{ layer: 'cache', canary: 12, control: 1_200, ageSeconds: 4 }])
  metrics.missingHeader('x-layer-ack', 'runner-out')
  metrics.tried({ runner: 'gpu-a', outcome: 'ok', seconds: 1, ttftSeconds: 0.1, toolCallSeconds: 0.2, tokens: used })
  metrics.firstByte('prefix', 0.1)
  metrics.flushed(200)
}

describe('the metrics', () => {
  it('every metric of the table is exported with its help and type', async () => {
    const metrics = create()
    exercise(metrics)
    const text = await lines(metrics)
    for (const [name, entry] of Object.entries(metricTable)) {
      expect(text).toContain(`# HELP foldgate_${name} ${entry.help}`)
      expect(text).toContain(`# TYPE foldgate_${name} ${entry.type}`)
      expect(text.filter((line) => line.startsWith(`foldgate_${name}`)).length, name).toBeGreaterThan(0)
    }
  })

  it('a series has exactly the labels that the table says', async () => {
    const metrics = create()
    exercise(metrics)
    for (const line of await lines(metrics)) {
      const [, name = '', labels = ''] = /^foldgate_(\w+?)(?:_bucket|_sum|_count)?(?:\{(.*)\})? \S+$/.exec(line) ?? []
      if (name === '') continue
      const names = [...labels.matchAll(/(\w+)="/g)].map((match) => match[1]).filter((label) => label !== 'le')
      expect(names, line).toEqual(metricTable[name as keyof typeof metricTable].labels)
    }
  })

  it('a call that ended is counted by route, status and source', async () => {
    const metrics = create()
    metrics.ended(ended)
    metrics.ended(ended)
    metrics.ended({ ...ended, route: 'messages', code: 499, source: 'gateway' })
    const text = await lines(metrics)
    expect(text).toContain('foldgate_requests_total{route="chat",code="200",source="runner"} 2')
    expect(text).toContain('foldgate_requests_total{route="messages",code="499",source="gateway"} 1')
    expect(text.filter((line) => line.startsWith('foldgate_requests_total{'))).toHaveLength(2)
  })

  it('buckets are cumulative and a value on a bound belongs below it', async () => {
    const metrics = create()
    for (const seconds of [0.32, 0.33, 1000]) metrics.ended({ ...ended, seconds })
    const text = await lines(metrics)
    const of = (le: string) => `foldgate_request_duration_seconds_bucket{route="chat",arm="gateway",le="${le}"}`
    expect(text).toContain(`${of('0.16')} 0`)
    expect(text).toContain(`${of('0.32')} 1`)
    expect(text).toContain(`${of('0.64')} 2`)
    expect(text).toContain(`${of('640')} 2`)
    expect(text).toContain(`${of('+Inf')} 3`)
    expect(text).toContain('foldgate_request_duration_seconds_count{route="chat",arm="gateway"} 3')
    expect(text).toContain('foldgate_request_duration_seconds_sum{route="chat",arm="gateway"} 1000.65')
  })

  it('a duration that is no number or negative is left out', async () => {
    const metrics = create()
    metrics.layer('auth', 'request', Number.NaN)
    metrics.layer('auth', 'request', -1)
    metrics.layer('auth', 'request', 0.5)
    const text = await lines(metrics)
    expect(text).toContain('foldgate_layer_duration_seconds_sum{layer="auth",phase="request"} 0.5')
    expect(text).toContain('foldgate_layer_duration_seconds_count{layer="auth",phase="request"} 1')
  })

  it('every label set has a series of its own', async () => {
    const metrics = create()
    for (const [place, name] of layers.entries()) metrics.layer(name, 'response', place + 1)
    metrics.layerStatus('cache', 'evaporation-bypassed', 'none')
    metrics.layerStatus('postprocess', 'fallback', 'gateway')
    const text = await lines(metrics)
    for (const [place, name] of layers.entries()) {
      expect(text).toContain(`foldgate_layer_duration_seconds_sum{layer="${name}",phase="response"} ${place + 1}`)
    }
    expect(text).toContain('foldgate_layer_status_total{layer="cache",status="evaporation-bypassed",by="none"} 1')
    expect(text).toContain('foldgate_layer_status_total{layer="postprocess",status="fallback",by="gateway"} 1')
  })

  it('a value outside the closed lists becomes other, never a label of its own', async () => {
    const metrics = create()
    const hostile = 'x"}\nfoldgate_pwned 1' as never
    metrics.ended({ route: hostile, code: 999, source: hostile, arm: hostile, seconds: 1, ttftSeconds: 1 })
    metrics.layer(hostile, hostile, 1)
    metrics.layerStatus(hostile, hostile, hostile)
    metrics.tokens(hostile, 1)
    metrics.count(hostile)
    metrics.dropped(hostile, 1)
    metrics.layerStage(hostile, 3)
    const { body } = await metrics.text()
    expect(body).not.toContain('pwned')
    expect(body).toContain('foldgate_requests_total{route="other",code="other",source="other"} 1')
    expect(body).toContain('foldgate_layer_status_total{layer="other",status="other",by="other"} 1')
  })

  it('calls under way are those that began and did not end', async () => {
    const metrics = create()
    metrics.begun()
    metrics.begun()
    metrics.ended(ended)
    expect(await lines(metrics)).toContain('foldgate_inflight_requests 1')
    metrics.ended({ ...ended, code: 499 })
    expect(await lines(metrics)).toContain('foldgate_inflight_requests 0')
  })

  it('what layers count is exported by layer and event, from zero on', async () => {
    const metrics = create()
    metrics.count('rate-limit.store-lost', 2)
    metrics.count('cache.hit')
    const text = await lines(metrics)
    expect(text).toContain('foldgate_layer_events_total{layer="rate-limit",event="store-lost"} 2')
    expect(text).toContain('foldgate_layer_events_total{layer="cache",event="hit"} 1')
    expect(text).toContain('foldgate_layer_events_total{layer="routing",event="ejected"} 0')
  })

  it('gauges are asked at the scrape', async () => {
    const metrics = create()
    const runners = new Map([['gpu-a', true]])
    let up = true
    metrics.storeUp(() => up)
    metrics.runnersAvailable(() => runners)
    metrics.layerStage('cache', 6)
    expect(await lines(metrics)).toEqual(
      expect.arrayContaining([
        'foldgate_store_up 1',
        'foldgate_runner_available{runner="gpu-a"} 1',
        'foldgate_config_last_reload_success 1',
        'foldgate_layer_stage{layer="auth"} 0',
        'foldgate_layer_stage{layer="cache"} 6',
      ]),
    )
    up = false
    runners.clear()
    runners.set('gpu-b', false)
    metrics.reload(false)
    const text = await lines(metrics)
    expect(text).toContain('foldgate_store_up 0')
    expect(text).toContain('foldgate_runner_available{runner="gpu-b"} 0')
    expect(text).toContain('foldgate_config_last_reload_success 0')
    expect(text.join('\n')).not.toContain('gpu-a')
  })
})

describe('exemplars', () => {
  const open = 'application/openmetrics-text'
  const trace = (digit: string) => digit.repeat(32)

  it('are the last recorded call of each bucket, on the histograms of calls, in OpenMetrics', async () => {
    const metrics = create()
    metrics.ended({ ...ended, seconds: 0.3, overheadSeconds: 0.002, ttftSeconds: 0.07, traceId: trace('a') })
    metrics.ended({ ...ended, seconds: 0.31, traceId: trace('b') })
    metrics.ended({ ...ended, seconds: 0.32 })
    metrics.ended({ ...ended, seconds: 1_000, traceId: trace('c') })
    const bearing = (await lines(metrics, open)).filter((line) => line.includes(' # {'))
    const said = bearing.map((line) =>
      /^foldgate_(\w+)\{.*le="(.*?)"\} \d+ # \{trace_id="(.)+"\} (\S+) \d+(\.\d+)?$/.exec(line),
    )
    expect(said.map((match) => match?.slice(1, 5))).toEqual([
      ['request_duration_seconds_bucket', '0.32', 'b', '0.31'],
      ['request_duration_seconds_bucket', '+Inf', 'c', '1000'],
      ['overhead_seconds_bucket', '0.0025', 'a', '0.002'],
      ['time_to_first_token_seconds_bucket', '0.08', 'a', '0.07'],
    ])
    expect((await lines(metrics)).filter((line) => line.includes('#') && !line.startsWith('# '))).toEqual([])
  })

  it('of calls that nobody recorded there are none', async () => {
    const metrics = create()
    metrics.ended({ ...ended, overheadSeconds: 0.002, ttftSeconds: 0.07 })
    expect((await lines(metrics, open)).join('\n')).not.toContain('trace_id')
  })
})

describe('a scrape', () => {
  const prometheus = 'application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5,*/*;q=0.1'

  it('is OpenMetrics where Accept prefers it, else the classic format', async () => {
    const metrics = create()
    const open = await metrics.text(prometheus)
    expect(open.contentType).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8')
    expect(open.body).toMatch(/# EOF\n$/)
    for (const accept of [undefined, '*/*', 'text/plain', 'text/plain, application/openmetrics-text;q=0.5']) {
      const classic = await metrics.text(accept)
      expect(classic.contentType).toBe('text/plain; version=0.0.4; charset=utf-8')
      expect(classic.body).not.toContain('# EOF')
    }
  })

  it('two at once in different formats do not mix', async () => {
    const metrics = create()
    metrics.ended(ended)
    const [open, classic] = await Promise.all([metrics.text(prometheus), metrics.text()])
    expect(open.body).toContain('# TYPE foldgate_requests counter\nfoldgate_requests_total{')
    expect(classic.body).toContain('# TYPE foldgate_requests_total counter\nfoldgate_requests_total{')
    const values = (body: string) => body.split('\n').filter((line) => line.startsWith('foldgate_'))
    expect(values(open.body)).toEqual(values(classic.body))
  })

  it('has the metrics of the process, once, however many gateways it holds', async () => {
    const [one, two] = [create(), create()]
    for (const metrics of [one, two]) {
      const text = await lines(metrics)
      expect(text.filter((line) => line.startsWith('nodejs_heap_size_used_bytes '))).toHaveLength(1)
      expect(text.filter((line) => line.startsWith('process_cpu_seconds_total '))).toHaveLength(1)
    }
  })

  const promtool = spawnSync('promtool', ['--version']).status === 0
  it.skipIf(!promtool)('passes promtool check metrics', async () => {
    const metrics = create()
    exercise(metrics)
    const { body } = await metrics.text()
    const check = spawnSync('promtool', ['check', 'metrics'], { input: body, encoding: 'utf8' })
    expect(`${check.stdout}${check.stderr}`).toBe('')
    expect(check.status).toBe(0)
  })
})

it('the cost of a call is a few microseconds at most', () => {
  const metrics = create()
  const call = (seconds: number) => {
    metrics.begun()
    for (const name of layers) {
      metrics.layer(name, 'request', seconds / 1e4)
      metrics.layer(name, 'response', seconds / 1e5)
      metrics.layerStatus(name, 'active', 'gateway')
    }
    metrics.tokens('input', 100)
    metrics.tokens('output', 20)
    metrics.ended({ ...ended, seconds, overheadSeconds: seconds / 100, ttftSeconds: seconds / 10 })
  }
  // Generous, because others share the machine; prom-client's own observe would take several times this.
  expect(costOf('metrics', 10_000, (each) => call(each / 10_000))).toBeLessThan(60)
})
