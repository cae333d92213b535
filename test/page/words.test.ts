import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, it } from 'vitest'
import { pageFrom, root } from '../docs/page.ts'
import { faultOf } from '../grafana/commands.ts'
import { faultsOf, tableNameFrom } from '../grafana/label-values.ts'
import { namesFromExpression } from '../grafana/promql.ts'

const folder = 'proxy/admin/page'

it('the modules of the page are what their types say', { timeout: 60_000 }, () => {
  const tsc = resolve(root, 'node_modules/.bin/tsc')
  const { stdout } = spawnSync(tsc, ['-p', `${folder}/static/tsconfig.json`], { cwd: root, encoding: 'utf8' })
  expect(stdout).toBe('')
})

it('every expression that the page shows asks for metrics, labels and values that there are', () => {
  const text = pageFrom(`${folder}/static/figures.js`)
  const queries = [...text.matchAll(/query:\s*'([^']+)'/g)].map(([, query]) => query as string)
  expect(queries).toHaveLength(4)
  const selectors = queries.flatMap((query) => namesFromExpression(query).selectors)
  expect(selectors.filter(({ metric }) => tableNameFrom(metric) === undefined)).toEqual([])
  expect(selectors.flatMap((selector) => faultsOf(tableNameFrom(selector.metric) as never, selector))).toEqual([])
})

it('every command and runbook that a finding names is there', () => {
  const text = pageFrom(`${folder}/findings.ts`)
  const commands = [...text.matchAll(/['`]foldgate ([^'`]+)['`]/g)].map(([, words]) =>
    (words as string).replaceAll(/\$\{[^}]+\}/g, 'cache'),
  )
  expect(commands.length).toBeGreaterThan(5)
  expect(commands.flatMap((command) => faultOf(command) ?? [])).toEqual([])
  const named = [...text.matchAll(/(?:runbook: |\? |: |\/, )'([a-z]+(?:-[a-z]+)+)'/g)].map(([, name]) => name as string)
  const books = readdirSync(resolve(root, 'grafana/runbooks')).map((name) => name.replace('.md', ''))
  expect(new Set(named).size).toBeGreaterThan(7)
  expect(named.filter((name) => !books.includes(name) && name !== 'hour-ago')).toEqual([])
})

it('every module and stylesheet of the page is used', () => {
  const names = readdirSync(resolve(root, folder, 'static')).filter((name) => /\.(js|css|svg)$/.test(name))
  const texts = ['page.html', ...names.filter((name) => name.endsWith('.js'))].map((name) =>
    pageFrom(`${folder}/static/${name}`),
  )
  expect(names.filter((name) => !texts.some((text) => text.includes(`/${name}`)))).toEqual([])
  expect(existsSync(resolve(root, folder, 'static/page.html'))).toBe(true)
})
