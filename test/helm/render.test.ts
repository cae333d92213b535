import { mkdirSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { configSchema } from '../../config/installed.ts'
import { loadConfig } from '../../config/load.ts'
import { faultsOf } from '../../config/test-config.ts'
import { runnerFromArguments } from '../../native-runner/flags.ts'
import { foldgate } from '../../proxy/cli/test-command.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { cases } from './cases.ts'
import {
  chart,
  container,
  containersOf,
  helmAvailable,
  objectsFromText,
  outputOf,
  type Rendered,
  renderText,
  validatorAvailable,
} from './chart.ts'
import { configText, mountInto } from './mounted.ts'

const names = Object.keys(cases)
const native = names.filter((name) => {
  const { enabled = true, kind = 'native' } = (cases[name]!['runner'] ?? {}) as { enabled?: boolean; kind?: string }
  return enabled && kind === 'native'
})
const rendered = new Map(names.map((name) => [name, memo(() => renderText(cases[name]))]))
const textOf = (name: string): Promise<string> => rendered.get(name)!()
const objectsOf = async (name: string): Promise<Rendered[]> => objectsFromText(await textOf(name))

const validated = (file: string, version: string): Promise<string> =>
  outputOf('kubernetes-validate', '--strict', '-k', version, file)

function memo<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

const withPods = (objects: readonly Rendered[]) => objects.filter(({ kind }) => kind === 'Deployment' || kind === 'Pod')

describe.skipIf(!helmAvailable)('the chart, for every case of values', () => {
  test('lints', async () => {
    expect(await outputOf('helm', 'lint', '--strict', chart)).toContain('0 chart(s) failed')
  })

  test.skipIf(!validatorAvailable)('renders what two Kubernetes versions take', { timeout: 60_000 }, async () => {
    await using dir = createTempDir()
    const texts = await Promise.all(names.map(textOf))
    // Most objects are the same in most cases.
    const documents = new Set(texts.flatMap((text) => text.split(/^---\n/m)))
    writeFileSync(dir.file('all.yaml'), [...documents].join('---\n'))
    for (const version of ['1.29.0', '1.37.0'])
      expect(await validated(dir.file('all.yaml'), version)).toMatch(/passed for resource deployment\/r-foldgate /)
    writeFileSync(dir.file('all.yaml'), 'apiVersion: v1\nkind: Service\nmetadata: { name: a }\nspec: { port: 1 }\n')
    await expect(validated(dir.file('all.yaml'), '1.37.0')).rejects.toThrow()
  })

  test.each(names)('%s: the gateway takes the configuration, without a fault', async (name) => {
    await using dir = createTempDir()
    const mounted = mountInto(dir.path)
    writeFileSync(dir.file('gateway.yaml'), mounted(configText(await objectsOf(name))))
    const env = { FOLDGATE__ADMIN__HOST: '10.1.2.3' }
    const load = () => loadConfig(dir.file('gateway.yaml'), { schema: configSchema, env })
    expect(faultsOf(load)).toEqual([])
    expect(load().config.admin.tokens.at(-1)).toMatchObject({ name: 'drain', role: 'operator' })
  })

  test.each(native)('%s: the native runner takes its flags', async (name) => {
    await using dir = createTempDir()
    const mounted = mountInto(dir.path)
    const [runner] = withPods(await objectsOf(name)).flatMap((each) => container(each, 'runner') ?? [])
    const options = runnerFromArguments(runner.args.map((flag: string) => mounted(flag)))
    expect(options).toMatchObject({ server: { host: '0.0.0.0', port: 8000 } })
    expect(options !== 'help' && 'execution' in options).toBe('keys' in cases[name]!)
  })

  test.each(names)('%s: pods keep to the restricted security standard', async (name) => {
    const pods = withPods(await objectsOf(name))
    expect(pods.length).toBeGreaterThan(1)
    for (const object of pods) {
      const pod = object.kind === 'Pod' ? object['spec'] : object['spec'].template.spec
      expect(pod.automountServiceAccountToken).toBe(false)
      expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
      // Servers of others are theirs to confine.
      for (const { image, securityContext } of containersOf(object).filter((each) => !each.image.startsWith('vllm')))
        expect([image, securityContext]).toEqual([
          image,
          { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
        ])
    }
  })

  test('the command `foldgate check` takes the configuration', async () => {
    await using dir = createTempDir()
    const text = mountInto(dir.path)(configText(await objectsOf('sidecar, folded')))
    mkdirSync(dir.file('config'))
    writeFileSync(dir.file('config/gateway.yaml'), text)
    const checked = await foldgate(['check', dir.file('config/gateway.yaml')], { FOLDGATE__ADMIN__HOST: '10.1.2.3' })
    expect(checked).toMatchObject({ code: 0, err: '' })
    expect(checked.out).toMatch(/: layers auth, postprocess; runners runner\n$/)
  })
})
