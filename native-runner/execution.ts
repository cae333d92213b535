import { createStore } from '../config/store/index.ts'
import { storeSchema } from '../config/store.ts'
import type { Acknowledgement, AcknowledgementPart } from '../plugins/acknowledgement.ts'
import { sealAcknowledgement } from '../plugins/acknowledgement-verify.ts'
import type { Capabilities } from '../plugins/capabilities.ts'
import type { ExecutionContext } from '../plugins/execution-context.ts'
import { type OpenedContext, openContext } from '../plugins/execution-context-open.ts'
import { type ContextRefusal, problemFromRefusal } from '../plugins/execution-context-refusal.ts'
import type { Clock, Log } from '../plugins/host.ts'
import { createKeyRing, type KeyRing } from '../plugins/jws-key.ts'
import type { Layer } from '../plugins/layer.ts'
import { createReplaySet } from '../plugins/replay-set.ts'
import type { Store } from '../plugins/store.ts'
import { createAcknowledgementKeys } from './acknowledgement-keys.ts'
import { type CapabilityParts, capabilitiesFrom, drawBoot } from './capabilities.ts'
import { createEgress } from './egress.ts'
import type { Engine, ModelCard } from './engine.ts'
import type { ExecutionOptions } from './execution-options.ts'
import { createEgressHttp } from './http.ts'
import { createLog } from './log.ts'
import type { Meter } from './meter.ts'
import { createPolicies, type Policies, type PoliciesParts } from './policies.ts'
import { createPolicyFiles } from './policy-files.ts'
import { refusal } from './refusal.ts'
import type { Answer } from './routes/route.ts'
import { createSeats, type Seats } from './seat.ts'
import { createDerivedSecrets, createSecretsFolder } from './secrets.ts'

/** A call's context, with what came beside it. */
export interface ContextAsked {
  readonly header: string | undefined
  readonly body: Buffer
  readonly credential: string | undefined
}

/** What a runner executes layers with, opened. */
export interface Execution {
  /** Signing keys are configured: contexts are taken, and plain calls only from who has the API key. */
  readonly keyed: boolean
  readonly allowPlain: boolean
  readonly layers: readonly Layer[]
  /** Drawn at this start: the audience of contexts. */
  readonly boot: string
  readonly keys: KeyRing
  readonly clock: Clock
  readonly log: Log
  readonly policies: Policies
  /** Feeds back what a request really used, unless a layer did so. */
  readonly learn: Seats['learn']
  /**
   * Waits until models and kept policies are known; at once from then on. Throws `engine_unavailable` while the engine is first loaded:
   * what a step needs cannot be told before.
   */
  opened(): Promise<void>
  capabilities(): Promise<Capabilities>
  /** Digest of the capabilities as they were last made. */
  caps(): string | undefined
  open(asked: ContextAsked): OpenedContext
  /** A refusal as an answer, counted. */
  refused(refusal: ContextRefusal): Answer
  /** An acknowledgement as text, under the key that belongs to the context's, counted. */
  seal(acknowledgement: Acknowledgement, context: ExecutionContext, how: Sealing): string
  close(): Promise<void>
}

/** Which part, for a context under which key. */
export interface Sealing {
  readonly part: AcknowledgementPart
  readonly kid: string
}

/** The engine that layers sit before, and what counts. */
export interface ExecutionParts {
  readonly engine: Engine
  readonly meter: Meter
}

/** Opens what a runner executes layers with. Throws for keys and hosts that cannot be. */
export async function createExecution(parts: ExecutionParts, options: ExecutionOptions = {}): Promise<Execution> {
  const { engine, meter } = parts
  const clock = options.clock ?? { now: () => Date.now() }
  const log = options.log ?? createLog((line) => void process.stderr.write(`${line}\n`))
  const keys = createKeyRing(options.keys ?? [])
  const sealers = createAcknowledgementKeys(options.keys ?? [], options.ackKey)
  const all = options.layers ?? (keys.kids.length > 0 ? await productLayers() : [])
  const executed = all.filter(({ native }) => native)
  const versions = new Map(executed.map(({ name, native }) => [name, native?.version ?? 0]))
  const replay = createReplaySet(options.replayCapacity)
  const boot = drawBoot()
  const doors = await openDoors(parts, options, { clock, log })
  const policies = createPolicies(policyParts(options, { layers: all, seatOf: doors.seats.seatOf, meter }))
  const offered = createOffered(parts, doors, { layers: executed, kids: keys.kids, boot })
  const restored = once(async () => {
    await offered.capabilities()
    await policies.restore()
  })
  return {
    keyed: keys.kids.length > 0,
    allowPlain: options.allowPlain ?? false,
    layers: all,
    boot,
    keys,
    clock,
    log,
    policies,
    learn: doors.seats.learn,
    ...offered,
    async opened() {
      if (engine.state() === 'starting')
        throw refusal('engine_unavailable', 'the engine is not ready', { retryAfterSeconds: 1 })
      await restored()
    },
    open({ header, body, credential }) {
      const expected = { keys, aud: boot, now: clock.now(), replay, policies, layers: versions }
      return openContext(header, { ...expected, body, ...(credential === undefined ? {} : { credential }) })
    },
    refused(refusal) {
      meter.noted('foldgate_runner_context_refusals_total', refusal.code)
      return problemFromRefusal(refusal)
    },
    seal(acknowledgement, context, { part, kid }) {
      meter.noted('foldgate_runner_acknowledgements_total', part)
      return sealAcknowledgement(acknowledgement, context, { part, key: sealers(kid) })
    },
    async close() {
      doors.close()
      await policies.close()
      await Promise.all([doors.http.close(), doors.store.close()])
    },
  }
}

/** What this instance offers, and its digest as it was last made. */
function createOffered(
  { engine, meter }: ExecutionParts,
  { cards, store }: Doors,
  own: Pick<CapabilityParts, 'layers' | 'kids' | 'boot'>,
): Pick<Execution, 'capabilities' | 'caps'> {
  let caps: string | undefined
  let madeAt = 0
  const capabilities = async (): Promise<Capabilities> => {
    const hits = meter.hitRate()
    const rate = hits === undefined ? {} : { kvCacheHitRate: hits }
    const state = store.kind === 'redis' ? 'shared' : 'local'
    madeAt = performance.now()
    const made = capabilitiesFrom({ engine, cards: await cards(), state, ...own, ...rate })
    caps = made.caps
    return made
  }
  return {
    capabilities,
    caps() {
      // An upstream's models change under us: the next acknowledgements tell.
      if (performance.now() - madeAt > staleMs) void capabilities().catch(() => undefined)
      return caps
    },
  }
}

/** The product's layers bring their libraries along: loaded only where contexts are taken. */
async function productLayers(): Promise<readonly Layer[]> {
  return (await import('../plugins/index.ts')).layers
}

interface Doors {
  readonly store: Store
  readonly http: ReturnType<typeof createEgressHttp>
  readonly seats: Seats
  /** What the engine serves now; the seats know it from then on. */
  cards(): Promise<readonly ModelCard[]>
  close(): void
}

async function openDoors(
  { engine, meter }: ExecutionParts,
  options: ExecutionOptions,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<Doors> {
  const allows = createEgress(options.egress ?? [])
  const secret = createDerivedSecrets(options.keys ?? [], options.ackKey)
  const secrets = createSecretsFolder(options.secretsDir)
  const store = await createStore(options.store ?? embedded, clock, log)
  const http = createEgressHttp(allows)
  const closing = new AbortController()
  let models: readonly string[] = []
  const cards = async (): Promise<readonly ModelCard[]> => {
    const found = engine.state() === 'ready' ? await engine.models() : []
    models = found.map(({ id }) => id)
    return found
  }
  const doors = { engine, meter, clock, store, http, allows, secrets, secret, log, closed: closing.signal }
  return { store, http, seats: createSeats({ ...doors, models: () => models }), cards, close: () => closing.abort() }
}

const embedded = storeSchema.parse({ kind: 'embedded' })
/** How long capabilities are believed, in milliseconds. */
const staleMs = 10_000

function policyParts(
  { policyDir, maxPolicies = 64, maxPolicyBytes = 33_554_432 }: ExecutionOptions,
  { layers, seatOf, meter }: Pick<PoliciesParts, 'layers' | 'seatOf'> & { readonly meter: Meter },
): PoliciesParts {
  return {
    layers,
    seatOf,
    files: createPolicyFiles(policyDir),
    maxPolicies,
    maxBytes: maxPolicyBytes,
    onCompiled: (report) => {
      for (const { status } of Object.values(report.layers)) meter.noted('foldgate_runner_policy_steps_total', status)
    },
  }
}

/** Does something the first time it is asked, and again after it failed. */
function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () => {
    done ??= work().catch((fault: unknown) => {
      done = undefined
      throw fault
    })
    return done
  }
}
