import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runnerFromArguments, usage } from '../../native-runner/flags.ts'
import { createMeter } from '../../native-runner/meter.ts'
import { defaultModel, pinnedModels } from '../../native-runner/model-source.ts'
import { createEngine } from '../../native-runner/runner.ts'
import { pageFrom, plain, root, rowsUnder } from './page.ts'

const page = pageFrom('native-runner/README.md')

describe('native-runner/README.md', () => {
  it('has every flag, and no other', () => {
    const documented = rowsUnder(page, 'Flags').map(([flag]) => plain(flag))
    expect(documented).toEqual([...usage.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, flag]) => flag))
  })

  it('gives the defaults as they are', () => {
    const defaults = Object.fromEntries(rowsUnder(page, 'Flags').map(([flag, value]) => [plain(flag), plain(value)]))
    const runner = runnerFromArguments([])
    expect(runner).toMatchObject({ engine: 'llama', server: { port: Number(defaults['--port']) } })
    expect(defaults['--model']).toBe(defaultModel)
    expect(usage).toContain(`(default ${defaults['--host']})`)
    expect(usage).toContain(`(default ${defaults['--sequences']})`)
    expect(page).toContain(`as \`${pinnedModels.get(defaultModel.replace('pypi:', ''))?.id}\``)
  })

  it('has every engine', () => {
    const documented = rowsUnder(page, 'Engines').map(([name]) => plain(name))
    const named = /--engine ([a-z|]+)/.exec(usage)?.[1]?.split('|')
    expect(documented).toEqual(named)
    expect(createEngine({ engine: 'echo' }).name).toBe('echo')
  })

  it('has every endpoint, and no other', async () => {
    const files = readdirSync(join(root, 'native-runner/routes')).filter((name) => /^[a-z-]+\.ts$/.test(name))
    const modules = await Promise.all(files.map((name) => import(join(root, 'native-runner/routes', name))))
    const known = modules
      .flatMap((module) => Object.values(module as Record<string, unknown>))
      .filter(
        (value): value is { method: string; path: string } => typeof value === 'object' && 'path' in (value ?? {}),
      )
      .map(({ method, path }) => `${method} ${path}`)
    expect(known.length).toBeGreaterThan(8)
    expect(
      rowsUnder(page, 'Endpoints')
        .map(([endpoint]) => plain(endpoint))
        .toSorted(),
    ).toEqual(known.toSorted())
  })

  it('has every error with its status and its type, in the order of the code', () => {
    const source = pageFrom('native-runner/refusal.ts').split('} as const')[0] ?? ''
    const known = [...source.matchAll(/^ {2}(\w+): \[(\d+), '(\w+)'\]/gm)].map(([, ...row]) => row)
    expect(known.length).toBeGreaterThan(15)
    expect(rowsUnder(page, 'Errors').map((cells) => cells.slice(0, 3).map(plain))).toEqual(known)
  })

  it('names every parameter that is refused', () => {
    const source = pageFrom('native-runner/sampling.ts')
    const refused = [...source.matchAll(/throw named\('(\w+)'/g)].map(([, name]) => name as string)
    expect(refused.length).toBeGreaterThan(5)
    const rows = rowsUnder(page, 'What a request may say').map(([cell]) => cell)
    expect(refused.filter((name) => !rows.some((cell) => cell?.includes(`\`${name}\``)))).toEqual([])
  })

  it('has every metric, and no other', () => {
    const text = createMeter().text({ running: 0, queued: 0, free: 0 })
    const known = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name)
    expect(rowsUnder(page, 'Metrics').map(([name]) => plain(name))).toEqual(known)
  })
})
