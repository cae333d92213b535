import { afterAll, describe, expect, it } from 'vitest'
import type { Place } from '../../plugins/stack.ts'
import { runnerMode, type Stage } from '../../plugins/stage.ts'
import { type Appearance, said } from './layer-appears.ts'
import { createLayerCopy } from './layer-copy.ts'
import { blocksFrom, pageFrom, rowsUnder } from './page.ts'

const guide = pageFrom('plugins/README.md')
const blocks = blocksFrom(guide)
const copy = createLayerCopy(blocks)
afterAll(() => copy[Symbol.asyncDispose]())

/** Lines of a program's output that speak of the guide's own files. */
const own = (out: string): string[] =>
  out.split('\n').filter((line) => /plugins\/(headroom|index\.ts|directives\.ts)|proxy\/directives/.test(line))

/** The members of an interface, in the order of the code. */
function membersOf(file: string, name: string): string[] {
  const [, body = ''] = new RegExp(`^export interface ${name}\\b.*{\\n([^]*?)^}`, 'm').exec(pageFrom(file)) ?? []
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??[:(]/gm)].map(([, member]) => member as string)
}

const doors = (name: string): string[] => membersOf('plugins/host.ts', name)

/** What stands in backticks in the first cells of the tables under a heading. */
const namedUnder = (heading: string): string[] =>
  rowsUnder(guide, heading).flatMap(([cell = '']) => [...cell.matchAll(/`(\w+)/g)].map(([, name]) => name as string))

describe('the tables of the guide', () => {
  it.each([
    ['every door of Host and of Seat', 'What a layer may import', [...doors('Host'), ...doors('Seat')]],
    ['every member of Acting', 'The life of a layer', membersOf('plugins/layer.ts', 'Acting')],
    [
      'everything that a layer and its native half declare',
      '7. What it declares: `plugins/headroom/index.ts`',
      [
        ...membersOf('plugins/layer.ts', 'Layer').filter((name) => !['name', 'config', 'open'].includes(name)),
        ...membersOf('plugins/layer.ts', 'NativeContract'),
      ],
    ],
  ])('have %s, and no other', (_, heading, known) => {
    expect(known.length).toBeGreaterThan(7)
    expect(namedUnder(heading).toSorted()).toEqual(known.toSorted())
  })

  it('say truly which half does what at each stage', () => {
    const rows = rowsUnder(guide, 'Two sides, two modes').map((cells) => cells.slice(1))
    const words = { enforce: 'enforces', observe: 'observes', away: 'is away', none: 'is not asked' } as const
    const said = (stage: Stage, place: Place): string[] => [words[place], words[runnerMode(stage, place) ?? 'none']]
    expect(rows).toEqual([
      said('gateway', 'enforce'),
      said('shadow', 'enforce'),
      said('canary', 'observe'),
      said('native', 'away'),
    ])
    expect(said('canary', 'enforce')).toEqual(rows[1])
    expect(said('rolled-back', 'enforce')).toEqual(rows[0])
  })
})

describe('the layer that the guide builds', { timeout: 60_000 }, () => {
  it('has the files that every layer has, and each has its code', () => {
    const files = blocks.filter(({ language }) => language === 'ts').map(({ file }) => file)
    const halves = ['config', 'rule', 'gateway', 'fold', 'tighten', 'native', 'index']
    const named = [...halves, 'headroom.test', 'renamed'].map((name) => `plugins/headroom/${name}.ts`)
    const lists = ['plugins/index.ts', 'plugins/directives.ts', 'proxy/directives.ts', 'test/laws/cases.ts']
    expect(files.sort()).toEqual([...named, ...lists].sort())
  })

  it('passes the type check', async () => {
    const { out } = await copy.run('tsc', '--project', 'tsconfig.guide.json')
    expect(own(out)).toEqual([])
  })

  it('is written as all other code is', async () => {
    const { code, out } = await copy.run('biome', 'check', '--vcs-enabled=false', 'plugins/headroom')
    expect(out).toContain('Checked 9 files')
    expect(code, out).toBe(0)
  })

  it('passes its own test and keeps every law that the guide names', async () => {
    const laws = ['plugins/headroom', 'test/laws', '-t', 'headroom', '--reporter', 'verbose']
    const { code, out } = await copy.run('vitest', 'run', ...laws)
    expect(code, out).toBe(0)
    const passed = out.split('\n').filter((line) => /^\s*✓.*headroom/.test(line))
    const ownTests = blocks.find(({ file }) => file.endsWith('headroom.test.ts'))?.text.match(/^ {2}test\(/gm) ?? []
    expect(passed.filter((line) => line.includes('headroom.test.ts')).length).toBe(ownTests.length)
    // Law 9 is about secret files, and this layer has none.
    const named = [...guide.matchAll(/^(\d)\. \*([a-z ,]+)\*:/gm)].map(([, number, name]) => `law ${number}, ${name}`)
    expect(named).toHaveLength(9)
    const missing = named.slice(0, 8).filter((law) => !passed.some((line) => line.includes(law)))
    expect(missing, out).toEqual([])
  })

  it('is seen from outside as the guide says', async () => {
    const { out } = await copy.run('node', 'test/docs/layer-appears.ts')
    const seen: Appearance = JSON.parse(out)
    const under = blocks.filter(({ heading }) => heading === 'What the one line brings')
    const textOf = (language: string): string[] =>
      under.filter((block) => block.language === language).map(({ text }) => text.trim())
    const [fault, metrics, whyNot] = textOf('')
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
    expect(whyNot).toBe(seen.moved.whyNot)
    const native = 'headroom=evaporation-complete;by=runner'
    expect([seen.moved.status.includes(native), guide.includes(`\`${native}\``)]).toEqual([true, true])
    expect(seen.moved.wrong).toBe('invalid_execution_context;path="execution_context.headroom.share"')
    const [kept, changed] = seen.renamed
    expect(kept).toContain(said)
    expect(changed).toMatch(/^data: {"model":"b",/)
  })
})
