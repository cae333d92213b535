const keys = { existingSecret: 'foldgate-keys' }
const sidecar = { mode: 'sidecar' }
const tokens = [{ name: 'oncall', role: 'operator', hashFile: '/etc/foldgate/secrets/oncall.hash' }]
const folded = {
  layers: {
    auth: { apiKeys: [{ id: 'ada', tenant: 'acme', hashFile: '/etc/foldgate/secrets/caller.hash' }] },
    postprocess: { pii: { mode: 'redact', types: ['email'] } },
  },
  folding: { stages: { postprocess: 'native' } },
}

/** Values to render the chart with, by what they are for. */
export const cases: Readonly<Record<string, Record<string, unknown>>> = {
  defaults: {},
  'one gateway': { gateway: { replicas: 1 } },
  'keys made of values': {
    keys: { algorithm: 'HS256', create: { 'runner.key': 'r'.repeat(43), 'signing.key': 'k'.repeat(43) } },
  },
  'folded, HS256': { keys: { ...keys, algorithm: 'HS256' }, gateway: { secrets: ['callers'], config: folded } },
  'folded, EdDSA': { keys, gateway: { secrets: ['callers'], config: folded } },
  sidecar,
  'sidecar, folded': {
    ...sidecar,
    keys,
    gateway: { secrets: ['callers'], config: folded },
    runner: {
      replicas: 3,
      engine: 'openai',
      upstream: 'http://127.0.0.1:8001',
      layerSecrets: ['callers'],
      extraArgs: ['--egress=id.example.com'],
      extraContainers: [{ name: 'vllm', image: 'vllm/vllm-openai:v1', args: ['--port=8001'] }],
    },
  },
  'sidecar of another server': {
    ...sidecar,
    runner: {
      kind: 'openai',
      image: { repository: 'vllm/vllm-openai', tag: 'v1' },
      args: ['--model=m'],
      probes: { startup: '/health', liveness: '/health', readiness: '/health' },
      securityContext: { runAsNonRoot: false, runAsUser: 0, readOnlyRootFilesystem: false },
      resources: { limits: { 'nvidia.com/gpu': 1 } },
    },
  },
  'runners elsewhere': {
    runner: { enabled: false },
    gateway: {
      secrets: ['oncall'],
      config: { runners: [{ name: 'gpu', kind: 'openai', url: 'http://vllm:8000' }], admin: { tokens } },
    },
  },
  bypass: { bypass: true },
  'bypass in a sidecar': { ...sidecar, bypass: true },
  'bypass to another server': {
    bypass: true,
    bypassTo: { selector: { app: 'vllm' }, port: 8001 },
    runner: { enabled: false },
    gateway: { config: { runners: [{ name: 'gpu', kind: 'openai', url: 'http://vllm:8000' }] } },
  },
  'a Redis for trials': { redis: { enabled: true }, keys },
  'another Redis': {
    gateway: {
      secrets: ['redis'],
      config: { store: { kind: 'redis', url: '${file:/etc/foldgate/secrets/redis-url}' } },
    },
  },
  scaling: { autoscaling: { enabled: true } },
  'watched, and open to some only': {
    podMonitor: { enabled: true, labels: { release: 'prometheus' } },
    prometheusRule: { enabled: true, labels: { release: 'prometheus' } },
    dashboards: { enabled: true },
    networkPolicy: {
      clients: [{ podSelector: { matchLabels: { app: 'web' } } }],
      admin: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }],
    },
    extraObjects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '{{ .Release.Name }}-more' } }],
  },
}
