import { expect, it } from 'vitest'
import { createSchema } from '../plugins/schema.ts'
import {
  kubernetesSchema,
  type NotifyConfig,
  notifySchema,
  type OutsideConfig,
  outsideFaults,
  panicFileSchema,
  traceStoreSchema,
} from './outside.ts'

const schema = createSchema<OutsideConfig & { panicFile: string | null; traceStore: unknown }>({
  type: 'object',
  properties: {
    kubernetes: kubernetesSchema,
    notify: notifySchema,
    panicFile: panicFileSchema,
    traceStore: traceStoreSchema,
  },
})

it('left out, everything is off', () => {
  const config = schema.parse({})
  expect(config).toMatchObject({
    kubernetes: {
      rollback: false,
      dryRun: false,
      events: false,
      deployment: null,
      namespace: null,
      kubeconfigFile: null,
    },
    notify: [],
    panicFile: null,
    traceStore: { kind: 'jaeger', url: null, sampling: 'head' },
  })
  expect(outsideFaults(config)).toEqual([])
})

it('what belongs together is asked for by its path', () => {
  const target = (given: Partial<NotifyConfig>) => ({ name: 'a', shape: 'json', ...given })
  const config = schema.parse({
    kubernetes: { rollback: true },
    notify: [
      target({}),
      target({ shape: 'pagerduty' }),
      target({ name: 's', shape: 'slack', url: 'https://s/', urlFile: 'u', secretFile: 'k' }),
      target({ name: 'fine', url: 'https://x/', secretFile: 'k' }),
    ],
  })
  expect(outsideFaults(config).map(({ path }) => path)).toEqual([
    'folding.kubernetes.deployment',
    'folding.notify[0].url',
    'folding.notify[0].secretFile',
    'folding.notify[1].name',
    'folding.notify[1].secretFile',
    'folding.notify[2].url',
    'folding.notify[2].secretFile',
  ])
})
