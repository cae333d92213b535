import { existsSync, readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createMeter } from '../../native-runner/meter.ts'
import { metricTable } from '../../proxy/telemetry/metric-table.ts'
import { createMetrics } from '../../proxy/telemetry/metrics.ts'
import { pageFrom, root } from '../docs/page.ts'
import { dashboardFiles } from './dashboard-files.ts'
import { dashboardModels, filledIn, measuring, queryOf } from './grafana-model.ts'
import { faultsOf, tableNameFrom } from './label-values.ts'
import { namesFromExpression } from './promql.ts'

const times = { rate: '1m', range: '1h' }
const source = { type: 'prometheus', uid: '${datasource}' }
const panels = dashboardModels.flatMap((dashboard) =>
  measuring(dashboard).map((panel) => ({ at: `${dashboard.file}: ${panel.title}`, dashboard, panel })),
)
const targets = panels.flatMap(({ at, panel }) =>
  (panel.targets ?? []).map((target) => ({ at: `${at} ${target.refId}`, ...target })),
)
const marks = dashboardModels.flatMap(({ file, annotations }) =>
  annotations.list.map((each) => ({ at: `${file}: ${each.name}`, ...each })),
)
const asked = [...targets, ...marks]
const native = new Set(
  [
    ...createMeter()
      .text({ running: 0, queued: 0, free: 0 })
      .matchAll(/^# TYPE (\S+)/gm),
  ].map(([, name]) => name as string),
)
const { body: exposition } = await createMetrics({ version: '1', commit: 'c', layers: [] }).text()

/** The selectors of an expression, as written and as they are asked. */
function selectorsOf(expr: string) {
  return { written: [...expr.matchAll(/([a-zA-Z_:]\w+)\{([^}]*)\}/g)], ...namesFromExpression(filledIn(expr, times)) }
}

describe('the files', () => {
  it('are those of the source, and no others', () => {
    for (const folder of ['grafana/dashboards', 'helm/foldgate/files/dashboards']) {
      const there = readdirSync(resolve(root, folder)).filter((name) => name.endsWith('.json'))
      const made = Object.keys(dashboardFiles).flatMap((path) => (path.startsWith(`${folder}/`) ? [path] : []))
      expect(there.map((name) => `${folder}/${name}`).toSorted()).toEqual(made.toSorted())
    }
    expect(dashboardModels).toHaveLength(5)
  })

  it('are each small enough for a ConfigMap, and stand in the README', () => {
    for (const [path, make] of Object.entries(dashboardFiles)) expect(make().length, path).toBeLessThan(1_000_000)
    for (const { file } of dashboardModels) expect(pageFrom('grafana/README.md')).toContain(`(dashboards/${file})`)
  })
})

describe('every dashboard', () => {
  it.each(dashboardModels)('$file has a name of its own, tags, a browser’s time and cannot be edited', (dashboard) => {
    expect(dashboard.uid).toBe(`foldgate-${dashboard.file.replace('.json', '')}`)
    expect(dashboard).toMatchObject({ timezone: 'browser', refresh: '30s', editable: false, schemaVersion: 42 })
    expect(dashboard.tags).toContain('foldgate')
    expect(dashboard.description.length).toBeGreaterThan(30)
    expect(dashboard.uid.length).toBeLessThanOrEqual(40)
  })

  it.each(dashboardModels)('$file lets the data source, the job and the instance be chosen', ({ templating }) => {
    const [first, ...rest] = templating.list
    expect(first).toMatchObject({ name: 'datasource', type: 'datasource', query: 'prometheus' })
    const queried = rest.filter(({ type }) => type === 'query')
    expect(queried.map(({ name }) => name).slice(0, 3)).toEqual(['namespace', 'job', 'instance'])
    for (const each of queried) {
      expect(each, each.name).toMatchObject({ datasource: source, multi: true, refresh: 2 })
      expect(each.allValue, each.name).toBe(each.name === 'namespace' ? '.*' : '.+')
      expect(queryOf(each)).toMatch(/^label_values\(.+,\w+\)$/)
    }
  })

  it.each(dashboardModels)('$file uses no variable that it does not have, and each that it has', (dashboard) => {
    const { templating, ...rest } = dashboard
    const text = JSON.stringify({ rest, queries: templating.list.map(queryOf) })
    const used = new Set([...text.matchAll(/\$\{?([a-z]\w+)/g)].map(([, name]) => name as string))
    const known = templating.list.map(({ name }) => name)
    expect([...used].toSorted()).toEqual(known.toSorted())
  })

  it.each(dashboardModels)('$file leads to the others, to the on-call page and to the runbooks', ({ links }) => {
    expect(links.map(({ title, type, url }) => [title, type, url])).toEqual([
      ['Foldgate', 'dashboards', undefined],
      ['On-call page', 'link', '${oncall}/'],
      ['Runbooks', 'link', '${runbooks}/README.md'],
    ])
    // In a menu nobody would look for them at night.
    expect(links.filter((link) => 'placement' in link)).toEqual([])
  })

  it.each(dashboardModels)('$file has every panel in a place of its own', (dashboard) => {
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`),
    )
    expect(new Set(cells).size).toBe(cells.length)
    expect(dashboard.panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true)
    const ids = dashboard.panels.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    const titles = measuring(dashboard).map(({ title }) => title)
    expect(titles.filter((title, at) => titles.indexOf(title) !== at)).toEqual([])
  })

  it.each(dashboardModels)('$file marks stage changes, rollbacks and configurations', ({ annotations }) => {
    const names = annotations.list.map(({ name }) => name)
    expect(names).toEqual(['Stage changes', 'Steps back', 'Rollbacks', 'Configuration', 'Restarts'])
    for (const { titleFormat, textFormat, tagKeys, expr, datasource } of annotations.list) {
      const spoken = [...`${titleFormat}${textFormat}`.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label as string)
      const { grouped } = namesFromExpression(filledIn(expr, times))
      const there = grouped.length > 0 ? grouped : ['job', 'instance']
      expect([...spoken, ...tagKeys.split(',')].filter((label) => !there.includes(label))).toEqual([])
      expect(datasource).toEqual(source)
    }
  })
})

describe('every panel', () => {
  it.each(panels)('$at has a title, a description, a unit, a data source and queries', ({ panel }) => {
    expect(panel.title).toMatch(/^\S.+/)
    expect(panel.description?.length).toBeGreaterThan(12)
    expect(panel.fieldConfig?.defaults.unit).toMatch(/^\w+$/)
    expect(panel.datasource).toEqual(source)
    expect(panel.targets?.length).toBeGreaterThan(0)
    const ids = panel.targets?.map(({ refId }) => refId)
    expect(new Set(ids).size).toBe(ids?.length)
    expect(panel.targets?.every(({ datasource }) => datasource?.uid === source.uid)).toBe(true)
  })

  it.each(panels)('$at leads to runbooks that there are', ({ panel }) => {
    for (const { url = '' } of panel.links ?? []) {
      const page = /^\$\{runbooks\}\/([\w-]+\.md)$/.exec(url)?.[1] ?? ''
      expect(existsSync(resolve(root, 'grafana/runbooks', page)), url).toBe(true)
      expect(page).not.toBe('')
    }
  })
})

describe('every query', () => {
  it.each(asked)('$at asks for metrics, labels and values that there are', ({ expr }) => {
    const { selectors, written } = selectorsOf(expr)
    const unknown = selectors.filter(
      ({ metric }) =>
        !tableNameFrom(metric) && !native.has(metric) && !exposition.includes(`# TYPE ${metric.replace(/_sum$/, '')} `),
    )
    expect(unknown.filter(({ metric }) => metric !== 'ALERTS')).toEqual([])
    expect(written.length).toBeGreaterThan(0)
    const faults = selectors.flatMap((selector) => {
      const name = tableNameFrom(selector.metric)
      const matchers = selector.matchers.filter(({ label, value }) => label !== 'namespace' && value !== '.+')
      return name ? faultsOf(name, { ...selector, matchers }) : []
    })
    expect(faults).toEqual([])
  })

  it.each(asked)('$at asks only the gateways, or runners, that were chosen', ({ expr }) => {
    for (const [, metric = '', matchers] of selectorsOf(expr).written) {
      const runners = !tableNameFrom(metric) && native.has(metric)
      if (metric === 'ALERTS') expect(matchers).toContain('job=~"$job"')
      else if (runners) expect(matchers).toMatch(/^namespace=~"\$namespace",job=~"\$runner_job"/)
      else expect(matchers).toMatch(/^namespace=~"\$namespace",job=~"\$job",instance=~"\$instance"/)
    }
  })

  it.each(asked)('$at takes the rate of a counter, over a fitting time, before it is summed', ({ expr }) => {
    const windows = [...expr.matchAll(/\[([^\]]+)\]/g)].map(([, time]) => time)
    // A standard deviation over five minutes is what is asked for; the rest follows the zoom.
    expect(windows.filter((time) => !['$__rate_interval', '$__range', '5m'].includes(time as string))).toEqual([])
    expect(expr).not.toMatch(/(rate|increase)\s*\(\s*sum/)
    const bare = expr.replaceAll(/(?:rate|increase|changes)\([\w:]+\{[^}]*\}\[[^\]]+\](?: offset \w+)?\)/g, '')
    expect(bare).not.toMatch(/_(total|bucket|count|sum)\{/)
  })

  it.each(targets)('$at has a legend from labels that are left', ({ expr, legendFormat = '' }) => {
    const spoken = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label as string)
    const { grouped } = namesFromExpression(filledIn(expr, times))
    const there = grouped.length > 0 ? grouped : ['instance']
    expect(spoken.filter((label) => !there.includes(label))).toEqual([])
  })

  it.each(targets)('$at shows exemplars only of histograms', ({ expr, exemplar }) => {
    if (exemplar) expect(expr).toMatch(/histogram_quantile\(/)
  })
})

it('every metric of the table is on a dashboard, or said to be on none', () => {
  const shown = new Set(
    asked.flatMap(({ expr }) => namesFromExpression(filledIn(expr, times)).selectors.map(({ metric }) => metric)),
  )
  const names = new Set([...shown].map((metric) => tableNameFrom(metric)))
  const missing = Object.keys(metricTable).filter((name) => !names.has(name as keyof typeof metricTable))
  expect(missing).toEqual([])
})

it('gateway and native runner export no two metrics under one name, but for the one that both measure', () => {
  const own = Object.keys(metricTable).map((name) => `foldgate_${name}`)
  expect(own.filter((name) => native.has(name))).toEqual(['foldgate_kv_cache_hit_ratio'])
})
