import { afterAll, describe, expect, it } from 'vitest'
import { type Appearance, said } from './layer-appears.ts'
import { createLayerCopy } from './layer-copy.ts'
import { blocksFrom, pageFrom, rowsUnder } from './page.ts'

const guide = pageFrom('plugins/README.md')
const blocks = blocksFrom(guide)
const copy = createLayerCopy(blocks)
afterAll(() => copy[Symbol.asyncDispose]())

/** Lines of a program's output that speak of the guide's own files. */
const own = (out: string): string[] => out.split('\n').filter((line) => /plugins\/(headroom|index\.ts)/.test(line))

/** The members of an interface, in the order of the code. */
function membersOf(file: string, name: string): string[] {
  const [, body = ''] = new RegExp(`^export interface ${name}\\b.*{\\n([^}]*)`, 'm').exec(pageFrom(file)) ?? []
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??[:(]/gm)].map(([, member]) => member as string)
}

/** What stands in backticks in the first cells of the tables under a heading. */
const namedUnder = (heading: string): string[] =>
  rowsUnder(guide, heading).flatMap(([cell = '']) => [...cell.matchAll(/`(\w+)/g)].map(([, name]) => name as string))

describe('the tables of the guide', () => {
  it('have every door of Host, and no other', () => {
    const doors = membersOf('plugins/host.ts', 'Host')
    expect(doors.length).toBeGreaterThan(10)
    expect(namedUnder('What a layer may import').toSorted()).toEqual(doors.toSorted())
  })

  it('have everything that a layer declares', () => {
    const declared = membersOf('plugins/layer.ts', 'Layer').filter((name) => !['name', 'config', 'open'].includes(name))
    const documented = namedUnder('4. What it declares: `plugins/headroom/index.ts`')
    expect(documented.toSorted()).toEqual(declared.toSorted())
  })
})

describe('the layer that the guide builds', { timeout: 60_000 }, () => {
  it('has the files that every layer has, and each has its code', () => {
    const files = blocks.filter(({ language }) => language === 'ts').map(({ file }) => file)
    const named = ['config', 'rule', 'gateway', 'index', 'headroom.test', 'renamed'].map(
      (name) => `plugins/headroom/${name}.ts`,
    )
    expect(files.sort()).toEqual([...named, 'plugins/index.ts', 'test/laws/cases.ts'].sort())
  })

  it('passes the type check', async () => {
    const { out } = await copy.run('tsc', '--project', 'tsconfig.guide.json')
    expect(own(out)).toEqual([])
  })

  it('is written as all other code is', async () => {
    const { code, out } = await copy.run('biome', 'check', '--vcs-enabled=false', 'plugins/headroom')
    expect(out).toContain('Checked 6 files')
    expect(code, out).toBe(0)
  })

  it('passes its own test and keeps the laws', async () => {
    const { code, out } = await copy.run('vitest', 'run', 'plugins/headroom', 'test/laws', '-t', 'headroom')
    const passed = Number(/Tests +(\d+) passed/.exec(out)?.[1])
    const ownTests = blocks.find(({ file }) => file.endsWith('headroom.test.ts'))?.text.match(/^ {2}test\(/gm) ?? []
    expect(passed, out).toBeGreaterThanOrEqual(ownTests.length + 5)
    expect(code, out).toBe(0)
  })

  it('is seen from outside as the guide says', async () => {
    const { out } = await copy.run('node', 'test/docs/layer-appears.ts')
    const seen: Appearance = JSON.parse(out)
    const under = blocks.filter(({ heading }) => heading === 'What the one line brings')
    const textOf = (language: string): string[] =>
      under.filter((block) => block.language === language).map(({ text }) => text.trim())
    const [fault, metrics] = textOf('')
    expect(fault).toBe(seen.fault)
    expect(metrics?.split('\n').filter((line) => !seen.metrics.includes(line))).toEqual([])
    expect(seen.refused).toMatchObject({ status: 503, retryAfter: '1', body: JSON.parse(textOf('json')[0] ?? '') })
    const [active, bypassed] = ['headroom=active;by=gateway', 'headroom=evaporation-bypassed;by=none']
    expect([seen.status.passed, seen.status.refused].every((text) => text.includes(active))).toBe(true)
    expect(seen.status.elsewhere).toContain(bypassed)
    expect([active, bypassed].filter((member) => !guide.includes(`\`${member}\``))).toEqual([])
    expect(seen.rows.find(({ name }) => name === 'headroom')).toMatchObject({ on: true })
    expect(seen.fromEnvironment).toMatchObject({ maxCalls: 32, firstRetryMs: 1000 })
    expect(seen.orderFaults).toEqual([])
    const [kept, changed] = seen.renamed
    expect(kept).toContain(said)
    expect(changed).toMatch(/^data: {"model":"b",/)
  })
})
