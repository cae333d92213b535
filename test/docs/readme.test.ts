import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { configSchema } from '../../config/installed.ts'
import { loadConfig } from '../../config/load.ts'
import { usage } from '../../native-runner/flags.ts'
import type { Route } from '../../plugins/chat.ts'
import { directivesSchema } from '../../plugins/directives.ts'
import { fallbackCauses } from '../../plugins/execution-context-fallback.ts'
import { defaultPrefix, headerNames, internalHeaders } from '../../plugins/headers.ts'
import { layers } from '../../plugins/index.ts'
import type { Layer } from '../../plugins/layer.ts'
import { createSchema } from '../../plugins/schema.ts'
import { helpFromVerbs } from '../../proxy/cli/help.ts'
import { verbs } from '../../proxy/cli/verbs.ts'
import { deprecatedNames } from '../../proxy/deprecated-values.ts'
import { labelValues } from '../../proxy/telemetry/metric-values.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { blocksFrom, pageFrom, plain, root, rowsUnder } from './page.ts'

const readme = pageFrom('README.md')
const all: readonly Layer[] = layers
const dir = createTempDir()
afterAll(() => dir[Symbol.asyncDispose]())

describe('README.md and the configuration', () => {
  it('names every section of the configuration and every layer', () => {
    const names = [...Object.keys(configSchema.json['properties']), ...all.map(({ name }) => name)]
    expect(names.length).toBeGreaterThan(15)
    expect(names.filter((name) => !readme.includes(`\`${name}\``))).toEqual([])
  })

  it('says what each section is for, in their order', () => {
    const documented = rowsUnder(readme, 'The sections of a configuration').map(([name]) => plain(name))
    expect(documented).toEqual(Object.keys(configSchema.json['properties']))
  })

  const configurations = blocksFrom(readme).filter(({ language }) => language === 'yaml')

  it('shows three configurations', () => {
    expect(configurations).toHaveLength(3)
  })

  it.each(configurations)('loads the one under "$heading" without fault or warning', ({ text, heading }) => {
    const written = text.replaceAll('/run/secrets/', dir.file('secrets/'))
    for (const [file] of written.matchAll(new RegExp(`${dir.file('secrets/')}[\\w.-]+`, 'g'))) {
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, `${Buffer.alloc(32, heading).toString('base64')}\n`)
    }
    const file = dir.file('gateway.yaml')
    writeFileSync(file, written)
    expect(loadConfig(file, { schema: configSchema, env: {} }).warnings).toEqual([])
  })
})

describe('README.md and the code', () => {
  const isThere = (path: string): boolean => existsSync(join(root, path))

  it('names only folders and files that are there', () => {
    const named = rowsUnder(readme, 'Where things are').map(([cell]) => plain(cell))
    expect(named.length).toBeGreaterThan(5)
    const paths = named.flatMap((path) =>
      path.includes('<layer>') ? all.map(({ name }) => path.replace('<layer>', name)) : [path.replace(/\*\.ts$/, '')],
    )
    expect(paths.filter((path) => !isThere(path))).toEqual([])
    const drawn = [...readme.matchAll(/(?:proxy|plugins|config|test|native-runner)\/[\w/.-]+\.(?:ts|yaml|md)/g)]
    expect(drawn.length).toBeGreaterThan(5)
    expect(drawn.map(([path]) => path).filter((path) => !isThere(path))).toEqual([])
  })

  it('says truly that every layer has the same files', () => {
    const row = rowsUnder(readme, 'Where things are').find(([cell]) => cell?.includes('<layer>'))?.[1] ?? ''
    const files = [...row.matchAll(/`(\w+)`/g)].map(([, file]) => `${file}.ts`)
    expect(files).toContain('index.ts')
    const missing = all.flatMap(({ name }) => files.map((file) => `plugins/${name}/${file}`))
    expect(missing.filter((path) => !isThere(path))).toEqual([])
  })

  it('lists the verbs of the command line, all of them, and the scripts that it names are in package.json', () => {
    const [, list = ''] = /# the command line: (.*)$/m.exec(readme) ?? []
    const named = list.split(', ').map((verb) => verb.split(' ')[0])
    expect(named.toSorted()).toEqual(verbs.map(({ name }) => name).toSorted())
    const used = [...readme.matchAll(/npm run foldgate -- (\w+)/g)].map(([, verb]) => verb as string)
    const help = helpFromVerbs(verbs)
    expect(used.filter((verb) => !new RegExp(`^  ${verb} `, 'm').test(help))).toEqual([])
    const { scripts } = JSON.parse(pageFrom('package.json')) as { scripts: Record<string, string> }
    const scriptsNamed = [...readme.matchAll(/npm (?:run )?(start|test|bench|foldgate|generate|build|check)\b/g)]
    expect(scriptsNamed.length).toBeGreaterThan(4)
    for (const [, script = ''] of scriptsNamed) {
      const file = /^node (\S+)/.exec(scripts[script] ?? '')?.[1] ?? ''
      expect(isThere(file), script).toBe(true)
    }
  })

  it('has a row for every layer, with the facts it writes', () => {
    const rows = rowsUnder(readme, 'The layers').filter((cells) => !cells[0]?.startsWith('`/') && cells.length === 4)
    const documented = rows.map(([name, , writes]) => [plain(name), plain(writes).replace('–', '')])
    expect(documented).toEqual(all.map(({ name, writes }) => [name, writes.join(', ')]))
  })

  it('says truly on which routes which layer applies', () => {
    const routes: Readonly<Record<string, Route>> = {
      '/v1/chat/completions': 'chat',
      '/v1/completions': 'completions',
      '/v1/messages': 'messages',
      '/v1/embeddings': 'embeddings',
      '/v1/models': 'models',
      'paths on': 'passthrough',
    }
    const rows = rowsUnder(readme, 'The layers').filter((cells) => cells.length === all.length + 1)
    const documented = rows.map(([route = '', ...cells]) => {
      const name = Object.keys(routes).find((each) => plain(route).startsWith(each)) ?? route
      return [routes[name] ?? name, all.filter((_, index) => cells[index] !== '–').map((layer) => layer.name)]
    })
    const known = Object.values(routes).map((route) => [
      route,
      all.filter((layer) => layer.routes.includes(route)).map(({ name }) => name),
    ])
    expect(documented).toEqual(known)
  })

  it('explains every status that the header can say', () => {
    const documented = rowsUnder(readme, 'Words').map(([, status]) => plain(status))
    expect(documented.toSorted()).toEqual([...labelValues.status].toSorted())
  })

  it('has every reason for a fallback, with who causes it', () => {
    const rows = rowsUnder(readme, 'When the runner cannot').map((cells) => cells.map(plain))
    const known = Object.entries(fallbackCauses)
    expect(rows.map(([reason, cause]) => `${reason} ${cause}`).toSorted()).toEqual(
      known.map(([reason, cause]) => `${reason} ${cause}`).toSorted(),
    )
    expect(rows.filter(([, , when = '']) => when.length < 10)).toEqual([])
  })

  it('says what a client may ask, all of it, with the layers that read it and an example that holds', () => {
    const rows = rowsUnder(readme, 'What a client may ask').map((cells) => cells.map(plain))
    const known = Object.keys(directivesSchema['properties'])
    const named = rows.flatMap(([member = '']) => member.split(', ').map((name) => name.split('.')[0] as string))
    expect([...new Set(named)].toSorted()).toEqual(known.toSorted())
    const outline = createSchema(directivesSchema)
    for (const [member = '', , example = ''] of rows) {
      const [outer = '', inner] = (member.split(', ').at(-1) ?? '').split('.')
      const value: unknown = JSON.parse(example)
      expect(outline.faults({ [outer]: inner ? { [inner]: value } : value }), example).toEqual([])
    }
  })

  it('names the flags of the runner as they are, and the old headers', () => {
    const flags = rowsUnder(readme, 'What it needs').map(([flag]) => plain(flag).split(' ')[0] as string)
    expect(flags.length).toBeGreaterThan(4)
    expect(flags.filter((flag) => !usage.includes(`  ${flag} `))).toEqual([])
    expect(deprecatedNames.filter((name) => !readme.includes(`\`${name}\``))).toEqual([])
  })

  it('names the headers of every answer as they are', () => {
    const { layerStatus, executionTime, gatewayOverhead, fallbackReason, prefix } = headerNames()
    expect(prefix).toBe(defaultPrefix)
    expect(readme).toContain(`${fallbackReason}: `)
    expect([layerStatus, executionTime, gatewayOverhead].filter((name) => !readme.includes(`\`${name}\``))).toEqual([])
  })
})

describe('the pages', () => {
  const pages = ['README.md', 'SECURITY.md', 'CHANGELOG.md', 'plugins/README.md', 'native-runner/README.md']

  it.each(pages)('%s links only to what is there', (page) => {
    const links = [...pageFrom(page).matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, link]) => link as string)
    expect(links.filter((link) => !existsSync(join(root, dirname(page), link)))).toEqual([])
  })

  it('SECURITY.md names every internal header that is stripped', () => {
    const security = pageFrom('SECURITY.md')
    expect(internalHeaders.filter((name) => !security.includes(`\`${name}\``))).toEqual([])
  })
})
