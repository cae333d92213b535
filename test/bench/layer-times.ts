import { type Redis, startRedis } from '../support/redis.ts'
import { type LayerTimes, layerTimesFrom, percentileOfTimes, timesBetween } from './exposition.ts'
import { shown } from './figures.ts'
import { profileKey } from './gateway-config.ts'
import type { LoadResult } from './load-client.ts'
import { addedOver, callsTo, inTurn, type Subject, warm } from './measure.ts'
import { type Row, type SuiteResult, skipped, told } from './report.ts'
import type { Rig, RunningGateway } from './rig.ts'

const bodyBytes = 5 * 1024

interface Alone extends Subject {
  readonly layer: string
  readonly gateway: RunningGateway
  readonly beside?: string
}

/** What each layer takes by itself, those that keep state with it in Redis. */
export async function layerTimes(rig: Rig): Promise<SuiteResult> {
  const title = 'layers'
  await using redis = await startRedis()
  if (!redis)
    return { title, method: '', rows: [skipped('every layer alone', 'redis-server not installed')], measured: {} }
  await redis.cli('HSET', profileKey, 'tier', 'vip', 'scopes', 'inference', 'plan', 'gold')
  const bare = await rig.gateway({ layers: {}, upstream: rig.upstream.json })
  const none: Subject = { name: 'no layer', port: bare.port, pid: bare.pid, unique: true }
  const alone = await startAlone(rig, redis)
  for (const subject of [none, ...alone]) await warm(rig, subject, { bodyBytes })
  const before = await pagesOf(alone)
  const { rounds, calls } = rig.options.durations
  const measured = await inTurn(rounds, [none, ...alone], (subject) =>
    rig.clients.load({ ...callsTo(subject, bodyBytes), connections: 4, calls, forMs: 60_000 }),
  )
  const after = await pagesOf(alone)
  const rows = alone.map((subject) => {
    const added = addedOver(resultsOf(measured, subject), resultsOf(measured, none), (each) => each.p50)
    const [request, response] = ['request', 'response'].map((phase) => spent(before, after, { subject, phase }))
    return rowOf(subject, { request, response, added } as Found)
  })
  const method = `mean and p99 in the gateway by its own /metrics, 4 connections in a closed loop, ${rounds} × ${calls} calls; Redis on this machine`
  return { title, method, rows, measured: Object.fromEntries(measured) }
}

async function startAlone(rig: Rig, redis: Redis): Promise<Alone[]> {
  const { all, authOnRedis, authForgetful, token } = rig.layers
  const start = async (plan: { layer: string; name: string; section: unknown; redis?: string }, more: object = {}) => {
    const sections = { [plan.layer]: plan.section }
    const gateway = await rig.gateway({
      layers: sections,
      upstream: rig.upstream.json,
      ...(plan.redis ? { redis: plan.redis } : {}),
    })
    const { port, pid } = gateway
    return { name: plan.name, layer: plan.layer, gateway, port, pid, token, unique: true, ...more }
  }
  const { url } = redis
  const field = { beside: 'in the field: 86 ms, p99 210 ms' }
  const subjects: Alone[] = [
    await start({ layer: 'auth', name: 'auth, scope and profile', section: authOnRedis, redis: url }, field),
    await start(
      { layer: 'auth', name: 'auth, each call verified and looked up', section: authForgetful, redis: url },
      field,
    ),
    await start({ layer: 'rate-limit', name: 'rate-limit on Redis', section: all['rate-limit'], redis: url }),
    await start({ layer: 'cache', name: 'cache on Redis, misses', section: all['cache'], redis: url }),
    await start({ layer: 'cache', name: 'cache on Redis, hits', section: all['cache'], redis: url }, { unique: false }),
  ]
  for (const layer of ['routing', 'prompt', 'postprocess']) {
    if (layer in all) subjects.push(await start({ layer, name: layer, section: all[layer] }))
  }
  return subjects
}

async function pagesOf(subjects: readonly Alone[]): Promise<Map<string, string>> {
  const pages = subjects.map(async ({ name, gateway }) => {
    const page = await fetch(`http://127.0.0.1:${gateway.adminPort}/metrics`)
    return [name, await page.text()] as const
  })
  return new Map(await Promise.all(pages))
}

type Pages = ReadonlyMap<string, string>

function spent(before: Pages, after: Pages, { subject, phase }: { subject: Alone; phase: string }): LayerTimes {
  const read = (pages: Pages): LayerTimes => layerTimesFrom(pages.get(subject.name) ?? '', subject.layer, phase)
  return timesBetween(read(before), read(after))
}

function resultsOf(measured: ReadonlyMap<string, LoadResult[]>, { name }: Subject): LoadResult[] {
  return measured.get(name) ?? []
}

interface Found {
  readonly request: LayerTimes
  readonly response: LayerTimes
  readonly added: number
}

function rowOf({ name, beside }: Alone, { request, response, added }: Found): Row {
  const ms = (seconds: number): string => shown(seconds * 1000)
  const reached = `${ms(request.sum / request.count)} ms, p99 ${ms(percentileOfTimes(request, 0.99))} ms`
  const back = `on the way back ${ms(response.sum / response.count)} ms; added to a call ${shown(added)} ms`
  return told(name, reached, beside ? `${back} (${beside})` : back)
}
