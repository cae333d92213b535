import type { ReloadOutcome } from '../../config/live.ts'
import type { LogLevel } from '../../config/sections.ts'
import type { Consumer } from '../consumers.ts'
import { createShadow } from '../folding/shadow/shadow.ts'
import type { StageVerb } from '../folding/stage-plan.ts'
import { createRecent } from '../telemetry/recent.ts'
import type { LayerStory, LayerView } from './layer-view.ts'
import type { ChangedBy, Health, Operations } from './operations.ts'
import type { RunnerView } from './runner-view.ts'
import type { StageOutcome } from './stage-view.ts'
import type { CallStory } from './stories.ts'

/** A call as `explain` tells it. */
export const story: CallStory = {
  id: 'c'.repeat(32),
  requestId: 'req-1',
  at: 1_700_000_000_000,
  route: 'chat',
  status: 200,
  source: 'runner',
  tenant: 't1',
  totalMs: 12.5,
  firstByteMs: 3,
  runnerMs: 11,
  tokens: { input: 7, output: 9 },
  layers: [{ name: 'auth', verdict: 'pass', mode: 'enforce', decideMs: 0.1, settleMs: 0 }],
  attempts: [{ runner: 'gpu-a', model: 'm', startMs: 1, endMs: 12, status: 200 }],
}

const alone = { stage: 'gateway', weight: 0, held: false, policies: [], processes: [] } as const
const layers: readonly LayerView[] = [
  { ...alone, name: 'auth', on: true, where: 'gateway', status: 'active', routes: ['chat', 'models'] },
  { ...alone, name: 'cache', on: false, where: 'none', status: 'evaporation-bypassed', routes: ['chat'] },
]

/** What a fake gateway was told, and what it answers next. */
export interface FakeGateway {
  readonly operations: Operations
  readonly told: string[]
  health: Health
  reload: ReloadOutcome
  problems: string[]
  consumers: Consumer[]
  runners: RunnerView[]
  layers: readonly LayerView[]
  /** Lets everybody who waits for the end of the drain go. */
  readonly end: (drained?: boolean) => void
}

/** A gateway that does nothing but note what it is told. */
export function createFakeGateway(): FakeGateway {
  const ended = Promise.withResolvers<boolean>()
  const fake: Fake = {
    told: [],
    health: [{ name: 'ping', ok: true }],
    reload: { ok: true, changed: true, at: Date.now(), by: 'start', faults: [], warnings: [], digest: 'd'.repeat(64) },
    problems: [],
    consumers: [],
    runners: [runner],
    layers,
    ended: ended.promise,
    end: (drained = true) => ended.resolve(drained),
  }
  const operations: Operations = { ...looks(fake), ...changes(fake) }
  return Object.assign(fake, { operations })
}

type Fake = Omit<FakeGateway, 'operations'> & { readonly ended: Promise<boolean> }
type Change =
  | 'reload'
  | 'drain'
  | 'drained'
  | 'logLevel'
  | 'setLogLevel'
  | 'changeStage'
  | 'rollbackAll'
  | 'turnSwitch'
  | 'purgeCache'

const shown = {
  listen: { port: 8080 },
  runners: [],
  layers: {},
  store: { kind: 'embedded' },
  telemetry: { otlpEndpoint: null },
}

const runner = {
  name: 'gpu-a',
  kind: 'openai',
  url: 'http://127.0.0.1:1',
  available: true,
  outstandingTokens: 5,
  processes: [],
}

function looks(fake: Fake): Omit<Operations, Change> {
  return {
    health: (probe) => (probe === 'live' ? [{ name: 'ping', ok: true }] : fake.health),
    metrics: async () => ({ contentType: 'text/plain; version=0.0.4; charset=utf-8', text: 'foldgate_build_info 1\n' }),
    status: () => ({
      version: '0.1.0',
      state: fake.problems.length > 0 ? 'degraded' : 'ok',
      problems: fake.problems,
      startedAt: Date.now() - 3_600_000,
      inFlight: 2,
      config: fake.reload.digest,
      lastReload: fake.reload,
      store: { kind: 'embedded', up: true },
      runners: fake.runners,
      layers: fake.layers,
      switches: {},
    }),
    switches: () => ({}),
    layers: () => layers,
    config: () => ({ config: shown, digest: fake.reload.digest, lastReload: fake.reload }),
    explain: (id) => (id === story.requestId || id === story.id ? story : undefined),
    explainLayer: (name) => layerStory(name),
    history: async () => [],
    evidence: () => ({ layers: {} }),
    analysis: () => undefined,
    flagger: (hook) => ({ status: 200, words: hook }),
    receivePeer: () => undefined,
    diffs: () =>
      createShadow({
        shadowCompared: () => undefined,
        shadowDropped: () => undefined,
        behaviourDrift: () => undefined,
      }).view(Date.now()),
    legacy: () => undefined,
    recent: () => createRecent({ clock: { now: Date.now }, layers: ['auth', 'cache'] }).view(),
    replicas: () => ({ agree: 1, of: 1, away: [] }),
    consumers: () => ({ consumers: fake.consumers, capacity: 1_000, forgotten: 0 }),
  }
}

function layerStory(name: string): LayerStory | undefined {
  const layer = layers.find((each) => each.name === name)
  const declared = { reads: [], writes: ['principal'], answers: false, rewrites: false }
  return layer && { ...layer, ...declared, config: { anonymous: true }, foldable: 'yes' }
}

function changes(fake: Fake): Pick<Operations, Change> {
  let level: LogLevel = 'info'
  const change = (verb: StageVerb, layer: string, { actor, reason }: ChangedBy): StageOutcome => {
    fake.told.push(`${verb} ${layer} ${actor.name} ${reason}`)
    return { verb, version: 1, changes: [], warnings: [], layers }
  }
  return {
    changeStage: async (verb, layer, by) => change(verb, layer, by),
    rollbackAll: async (by, { kubernetes }) => ({
      ...change('rollback', 'all', by),
      ...(kubernetes ? { kubernetes: { done: true, words: 'undone' } } : {}),
    }),
    async purgeCache(scope, { actor, reason }) {
      fake.told.push(`purge ${JSON.stringify(scope)} ${actor.name} ${reason}`)
      return { purged: 3, replicas: 'all', atRunner: true }
    },
    async turnSwitch(name, on, { actor, reason }) {
      fake.told.push(`${name} ${on ? 'on' : 'off'} ${actor.name} ${reason}`)
      return { name, on, changed: true, switches: {} }
    },
    async reload(by) {
      fake.told.push(`reload ${by.name}`)
      return fake.reload
    },
    drain: (by, reason) => void fake.told.push(`drain ${by.name} ${by.verified} ${reason ?? '-'}`),
    async drained(signal) {
      const gone = new Promise<boolean>((resolve) => {
        signal.addEventListener('abort', () => resolve(false), { once: true })
      })
      const drained = await Promise.race([fake.ended, gone])
      return { drained, inFlight: drained ? 0 : 2 }
    },
    logLevel: () => level,
    setLogLevel(next, by) {
      level = next
      fake.told.push(`level ${next} ${by.name}`)
    },
  }
}
