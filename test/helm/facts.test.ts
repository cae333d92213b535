import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { cases } from './cases.ts'
import { chart, container, containersOf, helmAvailable, only, outputOf, render, root } from './chart.ts'
import { configText } from './mounted.ts'

const dataPort = [{ name: 'http', port: 80, targetPort: 8080 }]

test('the chart has the version of the product', () => {
  const { version } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'))
  expect(parse(readFileSync(`${chart}/Chart.yaml`, 'utf8'))).toMatchObject({ version, appVersion: version })
})

describe.skipIf(!helmAvailable)('in front of a runner', () => {
  test('the gateway listens for calls, and for the node on the pod’s own address', async () => {
    const deployment = only(await render({}), 'Deployment')
    const gateway = container(deployment, 'gateway')
    expect(gateway.ports.map((each: any) => each.containerPort)).toEqual([8080, 9901])
    expect(gateway.env).toContainEqual({
      name: 'FOLDGATE__ADMIN__HOST',
      valueFrom: { fieldRef: { fieldPath: 'status.podIP' } },
    })
    const probes = ['startup', 'liveness', 'readiness'].map((name) => gateway[`${name}Probe`].httpGet)
    expect(probes).toEqual(['startup', 'live', 'ready'].map((name) => ({ path: `/healthz/${name}`, port: 9901 })))
    expect(deployment['spec'].template.spec.containers).toEqual([gateway])
  })

  test('its pod may stay longer than a drain takes', async () => {
    const config = { drain: { delayMs: 1_500, graceMs: 60_000 } }
    const { terminationGracePeriodSeconds } = only(await render({ gateway: { config } }), 'Deployment')['spec'].template
      .spec
    expect(terminationGracePeriodSeconds).toBe(77)
  })

  test('contexts are for one process, so the Service of runners has no address of its own', async () => {
    const objects = await render({})
    expect(only(objects, 'Service', '-runner')['spec']).toMatchObject({ clusterIP: 'None', ports: [{ port: 8000 }] })
    expect(parse(configText(objects)).runners).toEqual([
      { name: 'runner', kind: 'native', url: 'http://r-foldgate-runner:8000' },
    ])
  })

  test('nobody but gateways reaches the runner and the admin port', async () => {
    const objects = await render(cases['watched, and open to some only'])
    const gateways = { podSelector: only(objects, 'NetworkPolicy')['spec'].podSelector }
    const { admin, clients } = (cases['watched, and open to some only'] as any).networkPolicy
    expect(gateways.podSelector.matchLabels).toMatchObject({ 'app.kubernetes.io/component': 'gateway' })
    expect(only(objects, 'NetworkPolicy')['spec'].ingress).toEqual([
      { ports: [{ port: 8080 }], from: clients },
      { ports: [{ port: 9901 }], from: [gateways, ...admin] },
    ])
    expect(only(objects, 'NetworkPolicy', '-runner')['spec'].ingress).toEqual([
      { ports: [{ port: 8000 }], from: [gateways] },
    ])
  })

  test('with EdDSA the runner holds nothing that a context could be signed with', async () => {
    const { volumes } = only(await render(cases['folded, EdDSA']), 'Deployment', '-runner')['spec'].template.spec
    const keys = volumes.find((each: any) => each.name === 'runner-keys').secret.items
    expect(keys.map((each: any) => each.path)).toEqual(['runner.key', 'signing.pub', 'ack.pem'])
  })

  test('secrets are files that can change: never variables, never by subPath', async () => {
    for (const object of (await render(cases['folded, HS256'])).filter(({ kind }) => kind === 'Deployment')) {
      const all = containersOf(object)
      expect(JSON.stringify(all.flatMap((each) => each.env ?? []))).not.toContain('secretKeyRef')
      expect(JSON.stringify(all)).not.toContain('subPath')
    }
  })

  test('several gateways without a Redis are peers, a single one or those with a Redis are not', async () => {
    const peersOf = async (values: unknown) => parse(configText(await render(values))).folding.peers
    expect(await peersOf(cases['folded, HS256'])).toEqual(['r-foldgate-peers'])
    expect(await peersOf(cases['a Redis for trials'])).toBeUndefined()
    expect(await peersOf({ ...cases['folded, HS256'], gateway: { replicas: 1 } })).toBeUndefined()
  })

  test('one gateway has no disruption budget, for it could never be met', async () => {
    const kinds = async (values: unknown) => (await render(values)).map(({ kind }) => kind)
    expect(await kinds(cases['one gateway'])).not.toContain('PodDisruptionBudget')
    expect(await kinds({})).toContain('PodDisruptionBudget')
  })

  test('what scales says how many there are, and the Deployment does not', async () => {
    const objects = await render(cases['scaling'])
    expect(only(objects, 'Deployment')['spec']).not.toHaveProperty('replicas')
    expect(only(objects, 'HorizontalPodAutoscaler')['spec']).toMatchObject({
      scaleTargetRef: { name: 'r-foldgate' },
      metrics: [{ pods: { metric: { name: 'foldgate_inflight_requests' } } }],
    })
  })

  test('the rules are the file of alerts, as it is', async () => {
    const rule = only(await render(cases['watched, and open to some only']), 'PrometheusRule')
    expect(rule['spec']).toEqual(parse(readFileSync(`${chart}/files/alerts.yaml`, 'utf8')))
    expect(rule.metadata['labels']).toMatchObject({ release: 'prometheus' })
  })

  test('every dashboard is a ConfigMap that Grafana’s sidecar looks for', async () => {
    const folder = `${chart}/files/dashboards`
    const files = existsSync(folder) ? readdirSync(folder) : []
    const objects = await render({ dashboards: { enabled: true } })
    const made = objects.filter(({ metadata }) => metadata['labels']?.grafana_dashboard === '1')
    expect(files).toHaveLength(5)
    expect(made.flatMap(({ data }: any) => Object.keys(data)).toSorted()).toEqual(files.toSorted())
    expect(new Set(made.map(({ metadata }) => metadata['annotations']?.grafana_folder))).toEqual(new Set(['Foldgate']))
    for (const { data } of made as any[])
      for (const [name, text] of Object.entries<string>(data))
        expect(JSON.parse(text)).toEqual(JSON.parse(readFileSync(`${folder}/${name}`, 'utf8')))
  })

  test('without the kinds of the Prometheus operator nothing of it is made', async () => {
    const on = ['--set', 'podMonitor.enabled=true,prometheusRule.enabled=true']
    const text = await outputOf('helm', 'template', 'r', chart, '--kube-version', '1.33.0', ...on)
    expect(text).not.toContain('monitoring.coreos.com')
  })
})

describe.skipIf(!helmAvailable)('beside a runner', () => {
  test('the gateway is a sidecar: it comes first and stays last', async () => {
    const pod = only(await render(cases['sidecar']), 'Deployment')['spec'].template.spec
    expect(pod.initContainers.map((each: any) => [each.name, each.restartPolicy])).toEqual([
      ['drain-token', undefined],
      ['gateway', 'Always'],
    ])
    expect(pod.containers.map((each: any) => each.name)).toEqual(['runner'])
  })

  test('every container of the model server waits until the gateway has no call under way', async () => {
    const pod = only(await render(cases['sidecar, folded']), 'Deployment')['spec'].template.spec
    expect(pod.containers.map((each: any) => [each.name, each.lifecycle])).toEqual(
      ['runner', 'vllm'].map((name) => [name, { preStop: { httpGet: { path: '/-/drain/wait', port: 9901 } } }]),
    )
  })

  test('an image that runs as root may say so', async () => {
    const runner = container(only(await render(cases['sidecar of another server']), 'Deployment'), 'runner')
    expect(runner.securityContext).toMatchObject({ runAsNonRoot: false, runAsUser: 0, readOnlyRootFilesystem: false })
    expect(runner.readinessProbe.httpGet.path).toBe('/health')
  })

  test('auth may fold too: the runner is on this machine', async () => {
    expect(parse(configText(await render(cases['sidecar']))).runners[0].url).toBe('http://127.0.0.1:8000')
  })

  test('it needs a runner to stand beside', async () => {
    await expect(render({ mode: 'sidecar', runner: { enabled: false } })).rejects.toThrow(
      'mode sidecar needs runner.enabled',
    )
  })
})

describe.skipIf(!helmAvailable)('bypass', () => {
  const serviceOf = async (name: string) => only(await render(cases[name]), 'Service')['spec']

  test('leads to the runner’s pods and port, and changes no pod', async () => {
    const [off, on] = [await render({}), await render(cases['bypass'])]
    expect(only(off, 'Service')['spec'].ports).toEqual(dataPort)
    expect(only(on, 'Service')['spec']).toMatchObject({
      selector: only(on, 'Deployment', '-runner')['spec'].selector.matchLabels,
      ports: [{ ...dataPort[0], targetPort: 8000 }],
    })
    const pods = (objects: typeof on) => objects.filter(({ kind }) => kind === 'Deployment' || kind === 'ConfigMap')
    expect(pods(on)).toEqual(pods(off))
    expect(only(on, 'NetworkPolicy', '-runner')['spec'].ingress).toContainEqual({ ports: [{ port: 8000 }] })
  })

  test('in a sidecar leads to the runner’s port, even while the gateway does not come up', async () => {
    expect(await serviceOf('sidecar')).toMatchObject({ ports: dataPort })
    expect(await serviceOf('bypass in a sidecar')).toMatchObject({
      ports: [{ targetPort: 8000 }],
      publishNotReadyAddresses: true,
    })
  })

  test('leads to servers that are not of the chart, where it is told which', async () => {
    expect(await serviceOf('bypass to another server')).toMatchObject({
      selector: { app: 'vllm' },
      ports: [{ targetPort: 8001 }],
    })
    const config = { runners: [{ name: 'gpu', kind: 'openai', url: 'http://vllm:8000' }] }
    await expect(render({ bypass: true, runner: { enabled: false }, gateway: { config } })).rejects.toThrow(
      'bypass has nowhere to lead',
    )
  })
})

describe.skipIf(!helmAvailable)('values', () => {
  test('that are unknown, in the chart or in the configuration, are faults', async () => {
    await expect(render({ replicas: 3 })).rejects.toThrow(/replicas/)
    await expect(render({ gateway: { config: { listen: { prot: 1 } } } })).rejects.toThrow(/prot/)
  })

  test('of the page beside the chart make what it says', async () => {
    const [, values] = /```yaml\n([\s\S]+?)```/.exec(readFileSync(`${root}/helm/README.md`, 'utf8')) ?? []
    const pod = only(await render(parse(values!)), 'Deployment')['spec'].template.spec
    expect(pod.initContainers.map((each: any) => each.name)).toEqual(['drain-token', 'gateway'])
    expect(pod.containers.map((each: any) => each.name)).toEqual(['runner', 'vllm'])
  })

  test.each(['production', 'kong-in-front'])('take the example %s as the configuration', async (name) => {
    const config = parse(readFileSync(`${root}/config/presets/${name}.example.yaml`, 'utf8'))
    const objects = await render({ gateway: { config } })
    const { admin, folding, ...rest } = parse(configText(objects))
    const { admin: own, ...given } = config
    expect(rest).toEqual({ drain: { delayMs: 10_000, graceMs: 300_000 }, ...given })
    expect(admin.tokens.slice(0, -1)).toEqual(own.tokens ?? [])
    expect(folding.stateFile).toBe('/run/foldgate/stages.json')
  })
})
