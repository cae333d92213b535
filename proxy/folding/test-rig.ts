import type { GatewayConfig } from '../../config/schema.ts'
import { createSigningKey, type SigningKey } from '../../plugins/jws-key.ts'
import type { Layer } from '../../plugins/layer.ts'
import { createManualClock, type ManualClock } from '../../test/support/clock.ts'
import { createTestHost, type TestHost } from '../../test/support/host.ts'
import { openLine } from '../line.ts'
import type { RunnerSettings } from '../runner-settings.ts'
import type { Later } from './later.ts'
import { createPolicies, type Policies } from './policies.ts'
import { createInstance, type Instance } from './processes/instance.ts'
import type { InstanceParts } from './processes/instance-parts.ts'
import { startTestRunner, type TestRunner, type TestRunnerInit } from './processes/test-runner.ts'

/** The settings of a native runner at a URL. */
export function settingsOf(url: string, over: Partial<RunnerSettings> = {}): RunnerSettings {
  return {
    name: 'gpu-a',
    kind: 'native',
    url,
    headers: {},
    connectTimeoutMs: 1_000,
    firstByteTimeoutMs: 10_000,
    idleTimeoutMs: 10_000,
    keepAliveMs: 4_000,
    maxConnections: 16,
    maxEventBytes: 1_048_576,
    maxAttempts: 1,
    retryBudgetRatio: 0,
    ejectAfter: 3,
    ejectMs: 1_000,
    includeUsage: 'auto',
    maxBodyBytes: 1_048_576,
    ...over,
  }
}

/** An HS256 key whose secret is one byte 32 times over. */
export const testKey = (kid: string, byte: number): SigningKey =>
  createSigningKey({ kid, alg: 'HS256', secret: Buffer.alloc(32, byte) })

/** What is to be done later, done when a test says so. */
export interface TestLater {
  readonly later: Later
  /** The waits that have begun, in milliseconds, oldest first; those called off or over are not among them. */
  waits(): readonly number[]
  /** The first of this wait is over. */
  pass(ms: number): void
}

/** Makes a {@link TestLater}. */
export function createTestLater(): TestLater {
  const waiting = new Set<{ readonly ms: number; readonly action: () => void }>()
  return {
    later(ms, action) {
      const entry = { ms, action }
      waiting.add(entry)
      return () => void waiting.delete(entry)
    },
    waits: () => [...waiting].map(({ ms }) => ms),
    pass(ms) {
      const due = [...waiting].find((entry) => entry.ms === ms)
      if (!due) throw new Error(`nothing waits ${ms} ms`)
      waiting.delete(due)
      due.action()
    },
  }
}

/** Directives as they are by default. */
export const defaultDirectives: GatewayConfig['directives'] = {
  enabled: false,
  inlineTemplate: false,
  onInvalid: 'fallback',
}

/** A gateway's side of one test. */
export interface Rig extends AsyncDisposable {
  readonly clock: ManualClock
  readonly host: TestHost
  readonly key: SigningKey
  readonly policies: Policies
  /** The digest of the policy of chat. */
  readonly digest: string
  readonly later: TestLater
  readonly parts: InstanceParts
  /** Starts a runner with the rig's layers, key and clock. */
  runner(init?: Partial<TestRunnerInit>): Promise<TestRunner>
  /** Begins to know a runner at a URL, and waits for the first handshake. */
  instance(url: string, over?: Partial<InstanceParts>, settings?: Partial<RunnerSettings>): Promise<Instance>
}

/** Makes a {@link Rig} with these layers on, all with one section. */
export function createRig(layers: readonly Layer[], section: object = { words: ['no'] }): Rig {
  const clock = createManualClock()
  const host = createTestHost({ clock })
  const key = testKey('k1', 1)
  const sections = Object.fromEntries(layers.map(({ name }) => [name, section]))
  const policies = createPolicies({ layers: sections, directives: defaultDirectives }, host, layers)
  const later = createTestLater()
  const parts: InstanceParts = { key, iss: 'gw', host, policies, layers, later: later.later }
  const open: { readonly [Symbol.asyncDispose]: () => PromiseLike<void> }[] = []
  let boots = 0
  return {
    clock,
    host,
    key,
    policies,
    digest: policies.of('chat')?.digest ?? '',
    later,
    parts,
    async runner(init = {}) {
      const runner = await startTestRunner({ layers, key, now: clock.now, boot: `b_${++boots}`, ...init })
      open.push({ [Symbol.asyncDispose]: () => runner[Symbol.asyncDispose]() })
      return runner
    },
    async instance(url, over = {}, settings = {}) {
      const line = openLine(settingsOf(url, settings))
      const instance = createInstance(line, { ...parts, ...over })
      open.push({
        [Symbol.asyncDispose]: async () => {
          instance.close()
          await line.pool.destroy()
        },
      })
      await instance.ready
      return instance
    },
    async [Symbol.asyncDispose]() {
      for (const each of open.splice(0).reverse()) await each[Symbol.asyncDispose]()
    },
  }
}
