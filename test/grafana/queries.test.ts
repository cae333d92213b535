import { resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { root } from '../docs/page.ts'
import type { PlantedAnswer } from '../e2e/faulty-runner.ts'
import { until } from '../support/gate.ts'
import { dashboardModels, filledIn, measuring, queryOf } from './grafana-model.ts'
import { historyFrom } from './history.ts'
import { type Prometheus, prometheusAvailable, scrapeOf, startPrometheus } from './prometheus-process.ts'
import { promtoolAvailable, toolsRequired } from './promtool.ts'
import { startWatchedGateway, type WatchedGateway } from './watched-gateway.ts'

const labels = { namespace: 'serving', job: 'foldgate', instance: 'gateway-0' }
// Everything of the test lies inside these, and of a long past of each query as much as it looks at.
const times = { rate: '60s', range: '5m' }
const [week, hour] = [7 * 24 * 3600, 3600]
const now = (): number => Math.floor(Date.now() / 1000)

/** What was seen a week ago and an hour ago, for as long around as queries may be asked; an hour ago the gateway was another process. */
function pastOf(exposition: string): string[] {
  const compared =
    /^foldgate_(requests_total|(request_duration|time_to_first_token)_seconds_bucket|tokens_total|build_info)/
  const around = (ago: number) => ({ labels, from: now() - ago - 70, to: now() - ago + 70, step: 5 })
  const [then, before] = [week, hour].map((ago) => historyFrom(exposition, compared, around(ago)))
  const { from, to } = around(hour)
  const halves = [
    historyFrom('process_start_time_seconds 100', /^process/, { ...around(hour), to: from + 64, step: 1 }),
    historyFrom('process_start_time_seconds 200', /^process/, { ...around(hour), from: from + 65, to, step: 1 }),
  ].map((text) => text.replace('# EOF\n', ''))
  return [then as string, halves.join('') + before]
}

// What stays at zero while nothing is given up, differs, waits or is switched.
const quiet = new Set([
  'On hold',
  'Differences',
  'Given up',
  'Given up, by reason',
  'Telemetry given up',
  'Switched by people',
  'Behaviour drift',
  'Calls at the runner',
  'Steps of policies',
])

interface Watching extends AsyncDisposable {
  readonly prometheus: Prometheus
  readonly from: number
  readonly to: number
  readonly statuses: readonly number[]
}

/** A gateway that has gone through a rollout that failed and one that a person ended, watched by a real Prometheus. */
async function watchRollouts(): Promise<Watching> {
  const stack = new AsyncDisposableStack()
  const watched = stack.use(await startWatchedGateway())
  const from = now()
  const statuses = new Set(await watched.healthy())
  const exposition = await (await fetch(`${watched.gateway.adminUrl}/metrics`)).text()
  const prometheus = stack.use(
    await startPrometheus({
      every: '300ms',
      rules: [resolve(root, 'grafana/alerts.yaml')],
      history: pastOf(exposition),
      scrapes: [
        targetOf('foldgate', new URL(watched.gateway.adminUrl).host, labels.instance),
        targetOf('runners', watched.runner.target, 'runner-0', watched.runner.apiKey),
      ],
    }),
  )
  const scraped = scrapesOf(prometheus)
  const rounds = async (calls: () => Promise<readonly number[]>): Promise<void> => {
    for (let round = 0; round < 2; round++) {
      await scraped()
      for (const status of await calls()) statuses.add(status)
    }
    await scraped()
  }
  await rounds(watched.healthy)
  await loseHeaders(watched, scraped)
  await rounds(watched.mixed)
  await watched.move('shadow')
  await rounds(watched.mixed)
  await watched.gateway.live.reload('a test')
  await watched.move('canary')
  await rounds(watched.healthy)
  await watched.move('rollback')
  await scraped()
  const to = await scraped()
  return { prometheus, from, to, statuses: [...statuses], [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

/** Ends of streams, and then whole acknowledgements, get lost until the layer comes back by itself. */
async function loseHeaders({ faulty, gateway, chat }: WatchedGateway, scraped: () => Promise<unknown>): Promise<void> {
  const loses = (lose: (answer: PlantedAnswer) => void): void =>
    faulty.plant(({ path, headers }) => (path.startsWith('/v1/') && headers['x-execution-context'] ? lose : undefined))
  loses((answer) => {
    answer.trailers = {}
  })
  for (const words of ['an end that gets lost', 'and one more']) {
    await chat(words, { stream: true })
    await scraped()
  }
  loses(({ headers }) => void delete headers['x-layer-ack'])
  const stage = (): string => gateway.setup().folding.stageOf('postprocess').stage
  expect(stage()).toBe('canary')
  for (let call = 0; call < 60 && stage() === 'canary'; call++) {
    await chat(`lost ${call}`)
    await scraped()
  }
  expect(stage()).toBe('rolled-back')
  faulty.plant(undefined)
}

function targetOf(job: string, target: string, instance: string, credentials?: string): object {
  return scrapeOf(job, target, {
    static_configs: [{ targets: [target], labels: { namespace: labels.namespace, instance } }],
    ...(credentials ? { authorization: { credentials } } : {}),
  })
}

/** Waits until every target has been read after now, and gives back when that was, in seconds since the epoch. */
function scrapesOf(prometheus: Prometheus): () => Promise<number> {
  const latest = async (): Promise<number> => {
    const read = await valuesAt(prometheus, 'timestamp(up) and up == 1', Date.now() / 1000)
    return read.length === 2 ? Math.min(...read) : 0
  }
  return async () => {
    const asked = Date.now() / 1000
    let read = 0
    const isLater = async (): Promise<boolean> => {
      read = await latest()
      return read > asked
    }
    await until(isLater, 'Prometheus reads its targets', 20_000)
    return read
  }
}

interface Vector {
  readonly result: readonly { readonly value: readonly [number, string] }[]
}
interface Matrix {
  readonly result: readonly { readonly values: readonly (readonly [number, string])[] }[]
}

async function valuesAt(prometheus: Prometheus, query: string, time: number): Promise<number[]> {
  const { result } = await prometheus.ask<Vector>('/api/v1/query', { query, time: String(time) })
  return result.map(({ value: [, value] }) => Number(value))
}

async function valuesOver({ prometheus, from, to }: Watching, query: string, step = 1): Promise<number[]> {
  const range = { start: String(from), end: String(to), step: String(step) }
  const { result } = await prometheus.ask<Matrix>('/api/v1/query_range', { query, ...range })
  return result.flatMap(({ values }) => values.map(([, value]) => Number(value)))
}

const missing = !(prometheusAvailable && promtoolAvailable)
if (missing) console.error('skipped: no prometheus and promtool on the PATH; .ci/run shows how to install them')

describe.skipIf(missing && !toolsRequired)('a real Prometheus', () => {
  let watching: Watching
  beforeAll(async () => {
    watching = await watchRollouts()
  }, 120_000)
  afterAll(() => watching?.[Symbol.asyncDispose]())

  it('has seen what there is to see', () => {
    expect(watching.statuses.toSorted()).toEqual([200, 401, 404, 429, 502, 504])
  })

  describe.each(dashboardModels)('answers $file', (dashboard) => {
    it.each(measuring(dashboard))('$title', async ({ title, targets = [] }) => {
      for (const { expr, instant } of targets) {
        const query = filledIn(expr, times)
        const values = instant
          ? await valuesAt(watching.prometheus, query, watching.to)
          : await valuesOver(watching, query)
        const numbers = values.filter(Number.isFinite)
        expect(numbers, query).not.toEqual([])
        if (!quiet.has(title))
          expect(
            numbers.some((value) => value !== 0),
            query,
          ).toBe(true)
      }
    })

    it.each(dashboard.templating.list.filter(({ type }) => type === 'query'))('$name', async (variable) => {
      const [, series = '', label = ''] = /^label_values\((.+),(\w+)\)$/.exec(queryOf(variable)) ?? []
      const asked = { 'match[]': filledIn(series, times), start: String(watching.from) }
      expect(await watching.prometheus.ask(`/api/v1/label/${label}/values`, asked)).not.toEqual([])
    })

    it.each(dashboard.annotations.list)('$name', async ({ name, expr }) => {
      const { from, to } = watching
      const when = name === 'Restarts' ? { from: from - hour - 50, to: to - hour } : {}
      // As wide as Grafana makes them at several zooms; a busy machine reads its targets with gaps.
      const found = ['4s', '8s', '16s', '32s'].map((rate) =>
        valuesOver({ ...watching, ...when }, filledIn(expr, { rate, range: '5m' }), 0.25),
      )
      expect((await Promise.all(found)).flat()).not.toEqual([])
    })
  })
})
