import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { configSchema } from '../../config/installed.ts'
import { loadConfig } from '../../config/load.ts'
import { faultsOf } from '../../config/test-config.ts'
import { createTempDir, type TempDir } from '../support/temp-dir.ts'
import {
  container,
  helmAvailable,
  kubectlAvailable,
  objectsFromText,
  only,
  outputOf,
  render,
  root,
  validatorAvailable,
} from './chart.ts'
import { mountInto } from './mounted.ts'

const folder = `${root}/helm/kustomize/sidecar`
const labels = { 'foldgate.dev/sidecar': 'true' }
const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'vllm', labels },
  spec: { selector: { app: 'vllm' }, ports: [{ port: 80, targetPort: 8000 }] },
}
const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'vllm', labels },
  spec: {
    selector: { matchLabels: { app: 'vllm' } },
    template: {
      metadata: { labels: { app: 'vllm' } },
      spec: {
        initContainers: [{ name: 'fetch', image: 'busybox' }],
        containers: [{ name: 'server', image: 'vllm/vllm-openai' }],
      },
    },
  },
}

function theirs(): TempDir {
  const dir = createTempDir()
  cpSync(folder, dir.file('sidecar'), { recursive: true })
  writeFileSync(dir.file('theirs.yaml'), [deployment, service].map((each) => stringify(each)).join('---\n'))
  writeFileSync(
    dir.file('kustomization.yaml'),
    stringify({
      resources: ['theirs.yaml'],
      components: ['sidecar'],
      images: [{ name: 'foldgate', newName: 'registry.example.com/foldgate' }],
      configMapGenerator: [{ name: 'foldgate', files: ['sidecar/gateway.yaml'] }],
    }),
  )
  return dir
}

test('the configuration to start from is right', async () => {
  await using dir = createTempDir()
  writeFileSync(dir.file('a.yaml'), mountInto(dir.path)(readFileSync(`${folder}/gateway.yaml`, 'utf8')))
  expect(faultsOf(() => loadConfig(dir.file('a.yaml'), { schema: configSchema, env: {} }))).toEqual([])
})

test.skipIf(!helmAvailable)('its sidecar is that of the chart', async () => {
  const [patch] = objectsFromText(readFileSync(`${folder}/sidecar.yaml`, 'utf8'))
  const chart = only(await render({ mode: 'sidecar' }), 'Deployment')
  for (const [ours, theirs] of [
    ['drain-token', 'foldgate-drain-token'],
    ['gateway', 'foldgate'],
  ] as const) {
    const [a, b] = [
      container(chart, ours),
      patch!['spec'].template.spec.initContainers.find((c: any) => c.name === theirs),
    ]
    for (const same of ['image', 'command', 'args', 'restartPolicy', 'startupProbe', 'readinessProbe', 'lifecycle'])
      expect([same, b[same]]).toEqual([same, a[same]])
    expect(b.securityContext).toMatchObject(a.securityContext)
  }
})

describe.skipIf(!kubectlAvailable)('in somebody else’s Deployment', () => {
  test('the component puts the gateway in, holds the server and leads the Service through it', async () => {
    await using dir = theirs()
    const text = await outputOf('kubectl', 'kustomize', dir.path)
    const objects = objectsFromText(text)
    const found = (kind: string) => objects.find((each) => each.kind === kind)!
    const pod = found('Deployment')['spec'].template.spec
    expect(pod.initContainers.map((each: any) => [each.name, each.image])).toEqual([
      ['foldgate-drain-token', 'registry.example.com/foldgate:0.1.0'],
      ['foldgate', 'registry.example.com/foldgate:0.1.0'],
      ['fetch', 'busybox'],
    ])
    expect(pod.containers).toEqual([
      {
        name: 'server',
        image: 'vllm/vllm-openai',
        lifecycle: { preStop: { httpGet: { path: '/-/drain/wait', port: 9901 } } },
      },
    ])
    expect(pod.volumes).toContainEqual({
      name: 'foldgate-config',
      configMap: { name: found('ConfigMap').metadata.name },
    })
    expect(found('Service')['spec'].ports).toEqual([{ port: 80, targetPort: 8080 }])
    if (!validatorAvailable) return
    writeFileSync(dir.file('made.yaml'), text)
    expect(await outputOf('kubernetes-validate', '--strict', dir.file('made.yaml'))).toContain('passed')
  })

  test('kubectl patch does the same', async () => {
    await using dir = theirs()
    writeFileSync(dir.file('deployment.yaml'), stringify(deployment))
    writeFileSync(dir.file('patch.yaml'), readFileSync(`${folder}/sidecar.yaml`, 'utf8').replace(/^metadata:.*\n/m, ''))
    const patch = (file: string, ...args: string[]) =>
      outputOf('kubectl', 'patch', '--local', '-o', 'yaml', '-f', file, '--patch-file', ...args)
    writeFileSync(dir.file('one.yaml'), await patch(dir.file('deployment.yaml'), dir.file('patch.yaml')))
    const [patched] = objectsFromText(await patch(dir.file('one.yaml'), `${folder}/wait.yaml`, '--type', 'json'))
    const made = objectsFromText(await outputOf('kubectl', 'kustomize', dir.path)).find((o) => o.kind === 'Deployment')
    const parts = (object: any) =>
      [...object.spec.template.spec.initContainers, ...object.spec.template.spec.containers].map((each: any) => [
        each.name,
        each.lifecycle,
        each.securityContext,
      ])
    expect(parts(patched)).toEqual(parts(made))
  })
})
