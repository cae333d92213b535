import { readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type FallbackReason, fallbackCauses, isEvidence } from '../../plugins/execution-context-fallback.ts'
import { createMetrics } from '../../proxy/telemetry/metrics.ts'
import { pageFrom, root } from '../docs/page.ts'
import { commandsFrom, faultOf } from './commands.ts'
import { faultsOf, labelsOf, tableNameFrom, targetLabels } from './label-values.ts'
import { namesFromExpression } from './promql.ts'
import { promtool, promtoolAvailable, toolsRequired } from './promtool.ts'
import { alertChecks, alerts, recorded, rules, testFiles } from './rules.ts'

const folder = 'grafana/runbooks'
const pages = readdirSync(resolve(root, folder)).map((name) => `${folder}/${name}`)
// Pages that are about no alert.
const others = [`${folder}/README.md`, `${folder}/cut-over-day.md`]
const headings = ['What it means', 'What users notice', 'First command', 'Roll back', 'When to escalate']

/** The labels that the result of an expression may have. */
function labelsIn(expr: string): readonly string[] {
  return namesFromExpression(expr).selectors.flatMap(({ metric }) => {
    const name = tableNameFrom(metric)
    if (name) return labelsOf(name)
    const rule = recorded.get(metric)
    return rule ? namesFromExpression(rule.expr).grouped : targetLabels
  })
}

describe.skipIf(!promtoolAvailable && !toolsRequired)('promtool', () => {
  it('finds no fault in the rules', () => {
    const { status, said } = promtool('check', 'rules', 'grafana/alerts.yaml')
    expect(said).toContain(`${rules.length} rules found`)
    expect(status).toBe(0)
  })

  it.each(testFiles)('finds that every alert of %s does what its tests say', { timeout: 180_000 }, (file) => {
    const { status, said } = promtool('test', 'rules', file)
    expect(said).toMatch(/SUCCESS\s*$/)
    expect(status).toBe(0)
  })
})

describe('the rules and the metrics of the code', () => {
  const names = rules.map((rule) => ({ name: rule.alert ?? rule.record ?? '', ...namesFromExpression(rule.expr) }))

  it.each(names)('$name asks only for metrics that are exported or recorded before it', async ({ name, selectors }) => {
    const { body } = await createMetrics({ version: '1', commit: 'c', layers: [] }).text()
    const known = (metric: string): boolean => tableNameFrom(metric) !== undefined || body.includes(`# TYPE ${metric} `)
    const before = [...recorded.keys()].slice(0, recorded.has(name) ? [...recorded.keys()].indexOf(name) : undefined)
    expect(selectors.length).toBeGreaterThan(0)
    const unknown = selectors.filter(({ metric }) => metric !== 'up' && !known(metric) && !before.includes(metric))
    expect(unknown).toEqual([])
  })

  it.each(names)('$name asks only for labels and values that there are', ({ selectors }) => {
    const faults = selectors.flatMap((selector) => {
      const name = tableNameFrom(selector.metric)
      return name ? faultsOf(name, selector) : []
    })
    expect(faults).toEqual([])
  })

  it.each(rules.map((rule) => [rule.alert ?? rule.record, rule] as const))(
    '%s groups and speaks by labels that there are',
    (_, { expr, annotations = {} }) => {
      const there = labelsIn(expr)
      const spoken = Object.values(annotations).flatMap((text) =>
        [...text.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label as string),
      )
      expect([...namesFromExpression(expr).grouped, ...spoken].filter((label) => !there.includes(label))).toEqual([])
    },
  )

  it('what a caller or a person asks for is no evidence against the runner, and everything else is', () => {
    const rule = recorded.get('foldgate:fallbacks:increase10m')
    const [left = ''] = namesFromExpression(rule?.expr ?? '').selectors.flatMap(({ matchers }) =>
      matchers.map(({ value }) => value),
    )
    const reasons = Object.keys(fallbackCauses) as FallbackReason[]
    expect(left.split('|').toSorted()).toEqual(reasons.filter((reason) => !isEvidence(reason)).toSorted())
  })

  it('the reader of expressions knows a metric that is not there, and a label', () => {
    expect(namesFromExpression('sum by (job) (rate(foldgate_gone_total{layer="x"}[5m])) > 1').selectors).toEqual([
      { metric: 'foldgate_gone_total', matchers: [{ label: 'layer', regex: false, value: 'x' }] },
    ])
    expect(tableNameFrom('foldgate_gone_total')).toBeUndefined()
    const [selector] = namesFromExpression('foldgate_fallbacks_total{reason="no-such",where="x"}').selectors
    expect(selector && faultsOf('fallbacks_total', selector)).toHaveLength(2)
  })
})

describe('every alert', () => {
  it.each(alerts)(
    '$alert has a severity, a summary and a description with what was measured',
    ({ alert, labels, annotations }) => {
      expect(alert).toMatch(/^Foldgate[A-Z]\w+$/)
      expect(['critical', 'warning', 'info']).toContain(labels['severity'])
      expect(annotations['summary']).toMatch(/^\S.{10,}[^.]$/)
      // The one that has nothing left to measure says the nought itself.
      expect(annotations['description']).toMatch(alert === 'FoldgateDown' ? / 0 gateways / : /\$value/)
      expect(Object.keys(annotations).toSorted()).toEqual(['description', 'runbook_url', 'summary'])
    },
  )

  it.each(alerts)('$alert has a test in which it fires, and one in which it does not', ({ alert }) => {
    const found = alertChecks.filter(({ alertname }) => alertname === alert).map((check) => check.exp_alerts.length > 0)
    expect(found).toContain(true)
    expect(found).toContain(false)
  })

  it.each(alerts)('$alert has a page that speaks of it', ({ alert, annotations }) => {
    expect(pages).toContain(annotations['runbook_url'])
    expect(pageFrom(annotations['runbook_url'] as string)).toContain(`\`${alert}\``)
  })
})

it('a base can be put in front of every page with the command of the README', () => {
  const [, find = '', base = ''] = /sed 's\|(.+)\|&(.+)\|' grafana/.exec(pageFrom('grafana/README.md')) ?? []
  expect(base).toMatch(/^https:/)
  expect(pageFrom('grafana/alerts.yaml').split(`${find}grafana/runbooks/`)).toHaveLength(alerts.length + 1)
})

describe('every runbook', () => {
  it('belongs to an alert, and is on the list of them', () => {
    const used = new Set([...alerts.map(({ annotations }) => annotations['runbook_url']), ...others])
    expect(pages.filter((page) => !used.has(page))).toEqual([])
    const list = pageFrom(`${folder}/README.md`)
    const names = [
      ...pages.map((page) => `(${page.slice(folder.length + 1)})`),
      ...alerts.map(({ alert }) => `\`${alert}\``),
    ]
    expect(names.filter((name) => name !== '(README.md)' && !list.includes(name))).toEqual([])
  })

  it.each(pages.filter((page) => !others.includes(page)))(
    '%s has the five headings, and says something under each',
    (page) => {
      const parts = pageFrom(page)
        .split(/^## (.+)$/m)
        .slice(1)
      expect(parts.filter((_, turn) => turn % 2 === 0)).toEqual(headings)
      expect(parts.filter((part, turn) => turn % 2 === 1 && part.trim().length < 8)).toEqual([])
      expect(commandsFrom(parts[5] as string)).not.toEqual([])
    },
  )

  it.each(pages)('%s names only commands that there are', (page) => {
    const commands = commandsFrom(pageFrom(page))
    expect(commands.length).toBeGreaterThan(0)
    expect(commands.flatMap((command) => faultOf(command) ?? [])).toEqual([])
  })

  it('a command that is not there is found', () => {
    expect(faultOf('undo cache')).toMatch(/no verb undo/)
    expect(faultOf('rollback cache')).toMatch(/no reason/)
    expect(faultOf('status --fast')).toMatch(/fast/i)
    expect(faultOf('hold --reason "why"')).toMatch(/arguments/)
    expect(commandsFrom('Try `foldgate status -w`.\n```sh\nnpm run foldgate -- layers   # all\n```\n')).toEqual([
      'status -w',
      'layers',
    ])
  })
})
