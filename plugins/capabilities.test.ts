import { describe, expect, it } from 'vitest'
import { type Capabilities, capabilitiesDigest, capabilitiesFault, layerVersions, withDigest } from './capabilities.ts'

const capabilities: Capabilities = withDigest({
  versions: [1],
  runner: 'foldgate-native/0.1.0',
  boot: 'b_0f3a',
  state: 'local',
  placement: 'in-engine',
  engine: { name: 'llama.cpp', version: 'b6123' },
  keys: ['k1'],
  maxContextBytes: 4_096,
  layers: {
    auth: { version: 1 },
    'rate-limit': { version: 2, unit: 'model-tokens' },
    postprocess: {
      version: 1,
      schema: { profile: 'safe-core/1', keywords: ['type', 'enum'] },
      phrases: { semantics: 'literal-ascii-ci/1', max: 200 },
    },
  },
  models: [{ id: 'smollm2-135m', contextTokens: 8_192 }],
  load: { running: 2, queued: 0, free: 6, kvCacheHitRate: 0.87 },
})

describe('capabilities', () => {
  it('survive JSON, with their digest', () => {
    expect(capabilitiesFault(JSON.parse(JSON.stringify(capabilities)))).toBeUndefined()
  })

  it('the digest hangs on what the runner can do, not on its load or its start', () => {
    const { load: _, ...idle } = capabilities
    const later = { ...idle, boot: 'b_other', load: { running: 0, queued: 0, free: 8 } }
    expect(capabilitiesDigest(later)).toBe(capabilities.caps)
    expect(capabilitiesDigest({ ...capabilities, keys: ['k1', 'k2'] })).not.toBe(capabilities.caps)
    expect(capabilitiesDigest({ ...capabilities, layers: {} })).not.toBe(capabilities.caps)
  })

  it.each([
    [{ caps: 'f'.repeat(64) }, 'caps: is not the digest'],
    [{ keys: ['k2'] }, 'caps: is not the digest'],
    [{ versions: [] }, 'versions'],
    [{ boot: '' }, 'boot: must match'],
    [{ placement: 'beside' }, 'placement: must be one of'],
    [{ maxContextBytes: 8_192 }, 'maxContextBytes: must be <= 4096'],
    [{ layers: { auth: {} } }, 'layers.auth.version: is required'],
    [{ layers: { auth: { version: 1, speed: 9 } } }, 'layers.auth.speed: unknown key'],
    [{ load: { ...capabilities.load, kvCacheHitRate: 1.1 } }, 'load.kvCacheHitRate: must be <= 1'],
    [{ extra: true }, 'extra: unknown key'],
  ])('%#: %j', (over, fault) => {
    expect(capabilitiesFault({ ...capabilities, ...over })).toContain(fault)
  })

  it('give the versions that contexts are held against', () => {
    expect([...layerVersions(capabilities)]).toEqual([
      ['auth', 1],
      ['rate-limit', 2],
      ['postprocess', 1],
    ])
  })
})
