import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = resolve(import.meta.dirname, '..')
const rooms = ['plugins', 'proxy', 'native-runner', 'config', 'test']

interface Source {
  readonly path: string
  readonly text: string
  /** Modules it imports: own files relative to the root, libraries by name. */
  readonly imports: readonly string[]
}

const sources: readonly Source[] = rooms.flatMap((room) =>
  readdirSync(join(root, room), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.includes('node_modules'))
    .map((name) => sourceFrom(join(room, name))),
)

function sourceFrom(path: string): Source {
  const text = readFileSync(join(root, path), 'utf8')
  const found = text.matchAll(
    /(?:^|\n)(?:import|export)\s[^'"]*?from\s+'([^']+)'|import\('([^']+)'\)|(?:^|\n)import '([^']+)'/g,
  )
  const imports = [...found].map(([, from, dynamic, bare]) => {
    const name = (from ?? dynamic ?? bare) as string
    return name.startsWith('.') ? relative(root, resolve(root, dirname(path), name)) : name
  })
  return { path, text, imports }
}

const isTest = ({ path }: Source): boolean =>
  path.endsWith('.test.ts') || path.startsWith('test/') || path.includes('/test-') || path.endsWith('.support.ts')
const product = sources.filter((source) => !isTest(source))
const own = (name: string): boolean => rooms.some((room) => name.startsWith(`${room}/`))
const layerOf = (path: string): string | undefined => /^plugins\/([^/]+)\//.exec(path)?.[1]
const isRule = (path: string): boolean => /^plugins\/[^/]+\.ts$/.test(path) && path !== 'plugins/index.ts'

/** Imports that break a rule, each as `file → module`. */
const breaking = (files: readonly Source[], forbidden: (name: string, path: string) => boolean): string[] =>
  files.flatMap(({ path, imports }) =>
    imports.filter((name) => forbidden(name, path)).map((name) => `${path} → ${name}`),
  )

describe('who may import whom', () => {
  it('rules import nothing of ours but rules', () => {
    const rules = product.filter(({ path }) => isRule(path))
    expect(rules.length).toBeGreaterThan(10)
    expect(breaking(rules, (name) => own(name) && !isRule(name))).toEqual([])
  })

  it('a layer imports rules and its own folder', () => {
    const files = product.filter(({ path }) => layerOf(path))
    expect(files.length).toBeGreaterThan(10)
    expect(breaking(files, (name, path) => own(name) && !isRule(name) && layerOf(name) !== layerOf(path))).toEqual([])
  })

  it('the list of layers imports rules and the index of each layer', () => {
    const list = product.filter(({ path }) => path === 'plugins/index.ts')
    expect(breaking(list, (name) => own(name) && !isRule(name) && !/^plugins\/[^/]+\/index\.ts$/.test(name))).toEqual(
      [],
    )
  })

  it('config imports rules and the list', () => {
    const files = product.filter(({ path }) => path.startsWith('config/'))
    expect(
      breaking(
        files,
        (name) => own(name) && !name.startsWith('config/') && !isRule(name) && name !== 'plugins/index.ts',
      ),
    ).toEqual([])
  })

  it('gateway and runner never import each other', () => {
    const from = (room: string): Source[] => product.filter(({ path }) => path.startsWith(room))
    expect(breaking(from('proxy/'), (name) => name.startsWith('native-runner/'))).toEqual([])
    expect(breaking(from('native-runner/'), (name) => name.startsWith('proxy/'))).toEqual([])
  })

  it('no product file imports a test', () => {
    expect(breaking(product, (name) => name.startsWith('test/') || name.endsWith('.test.ts'))).toEqual([])
  })
})

/** Each library's owners. A library that is not here has no rule. */
const owners: Readonly<Record<string, RegExp>> = {
  ajv: /^plugins\/(schema|client-schema)\.ts$/,
  'ajv-formats': /^plugins\/client-schema\.ts$/,
  'eventsource-parser': /^(plugins\/sse\.ts|native-runner\/engines\/openai)/,
  fastify: /^(proxy\/(server\.ts|routes\/|admin\/)|native-runner\/(server|key)\.ts|native-runner\/routes\/)/,
  'http-proxy': /^proxy\/routes\/passthrough/,
  undici:
    /^(proxy\/(line|exchange|receiver|runner-error|host)\.ts|native-runner\/(http\.ts|engines\/openai)|proxy\/cli\/)/,
  ioredis: /^config\/store\/redis/,
  '@kubernetes/client-node': /^proxy\/outside\/kubernetes\/client\.ts$/,
  'prom-client': /^proxy\/telemetry\/metric/,
  '@opentelemetry/api': /^proxy\/telemetry\//,
  '@opentelemetry/sdk-node': /^proxy\/telemetry\//,
  jose: /^plugins\/auth\//,
  yaml: /^(config\/|proxy\/cli\/)/,
  pino: /^proxy\/telemetry\/log\.ts$/,
}

describe('a library has one owner', () => {
  it.each(Object.entries(owners))('%s', (library, owner) => {
    const users = product.filter(({ imports }) => imports.includes(library)).map(({ path }) => path)
    expect(users.filter((path) => !owner.test(path))).toEqual([])
  })
})

describe('the budgets', () => {
  const lengths = product.map(({ path, text }) => [path, text.split('\n').length - 1] as const)

  it('no file is longer than 250 lines', () => {
    expect(lengths.filter(([, lines]) => lines > 250)).toEqual([])
  })

  it('the median file has at most 90 lines', () => {
    const sorted = lengths.map(([, lines]) => lines).sort((a, b) => a - b)
    expect(sorted[Math.floor(sorted.length / 2)]).toBeLessThanOrEqual(90)
  })
})

describe('the habits', () => {
  const lines = product.flatMap(({ path, text }) =>
    text.split('\n').map((line, index) => ({ at: `${path}:${index + 1}`, line })),
  )
  const found = (pattern: RegExp): string[] => lines.filter(({ line }) => pattern.test(line)).map(({ at }) => at)

  it('nothing throws a bare error', () => {
    expect(found(/throw new Error\(/)).toEqual([])
  })

  it('no any outside plugins/layer.ts', () => {
    expect(
      found(/:\s*any\s*[;,)=|[{>]|:\s*any$|\bas any\b|<any>/).filter((at) => !at.startsWith('plugins/layer.ts')),
    ).toEqual([])
  })

  it('no file has a name that says nothing', () => {
    expect(
      product
        .map(({ path }) => path)
        .filter((path) => /(^|\/)(utils?|helpers?|common|misc|manager|middleware)[./]/.test(path)),
    ).toEqual([])
  })

  it('every export says what it is', () => {
    const undocumented = product.flatMap(({ path, text }) => {
      const all = text.split('\n')
      return all.flatMap((line, index) => {
        const declared = /^export (?:async )?(?:function|const|interface|type|class) \*?(\w+)/.exec(line)
        return declared && !/\*\/\s*$/.test(all[index - 1] ?? '') ? [`${path}: ${declared[1]}`] : []
      })
    })
    expect(undocumented).toEqual([])
  })
})
