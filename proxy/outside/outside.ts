import type { GatewayConfig } from '../../config/schema.ts'
import { resolveFrom } from '../../config/secret-file.ts'
import { canonicalJson } from '../../plugins/canonical.ts'
import type { Clock, Http, Log } from '../../plugins/host.ts'
import type { Decided } from '../folding/rollout/controller.ts'
import type { ChangedBy, StageChange, Stages } from '../folding/stages.ts'
import type { TripOutcome } from '../folding/state/state.ts'
import { type Informers, openInformers, type UndoView } from './informers.ts'
import { evidenceLine, noticeFromMove } from './notice-from-move.ts'
import type { Notice } from './notify/notice.ts'
import { createPanicGuard, type PanicGuard, panicActor } from './panic/panic-guard.ts'
import { createSecondWitness, type Promotion, type SecondWitness } from './traces/second-witness.ts'

/** What Foldgate has to do with things outside it: the panic file, people, the Kubernetes cluster, the trace store. */
export interface Outside {
  /** Opens what a configuration names; what is given back puts it to use. Throws `config_invalid`; nothing has changed then. */
  prepare(config: GatewayConfig, base: string): Promise<() => void>
  /** Watches over the layers from now on. Resolves after the first look for the panic file: wait for it before taking calls. */
  guard(stages: Stages): Promise<void>
  /** Why no layer leaves the gateway now; undefined: nothing keeps it. */
  readonly panicking: string | undefined
  /** Brings every layer back at once, as for a signal. Never throws. */
  panic(reason: string): Promise<void>
  moved(change: StageChange): void
  decided(said: Decided): void
  /** A rollback that some replicas have not taken over yet. */
  unconfirmed(layers: readonly string[], by: ChangedBy, outcome: TripOutcome): void
  /** Whether nothing outside speaks against a promotion; see {@link SecondWitness}. */
  allows(promotion: Promotion): boolean
  /** Undoes the runner's Deployment, where that is on and somebody asks for it. */
  undo(by: ChangedBy): Promise<UndoView>
  close(): void
}

/** What it is made with. */
export interface OutsideParts {
  readonly http: Http
  readonly clock: Clock
  readonly log: Log
}

/** What is in use now. */
interface Room {
  informers: Informers | undefined
  witness: SecondWitness | undefined
  stages: Stages | undefined
  guard: PanicGuard | undefined
  panicPath: string | null
  /** What of the configuration is in use, as one text. */
  sections: string
  readonly decisions: Map<string, Decided>
  readonly holds: Map<string, string>
}

/** Makes {@link Outside}; nobody hears anything before a configuration is prepared and put to use. */
export function createOutside(parts: OutsideParts): Outside {
  const room: Room = {
    ...{ informers: undefined, witness: undefined, stages: undefined, guard: undefined, panicPath: null },
    ...{ sections: '', decisions: new Map(), holds: new Map() },
  }
  return {
    prepare: (config, base) => prepare(room, parts, { config, base }),
    async guard(stages) {
      room.stages = stages
      room.guard = createPanicGuard({
        stages,
        log: parts.log,
        appeared: (reason) => room.informers?.tell(panicNotice(parts, panicActor, reason)),
      })
      await room.guard.watch(room.panicPath)
    },
    get panicking() {
      return room.guard?.why
    },
    panic: (reason) => panic(room, parts, reason),
    moved(change) {
      room.guard?.moved(change)
      if (tells(room)) room.informers?.tell(noticeFromMove(change, room.decisions.get(change.layer)))
      room.holds.delete(change.layer)
      if (change.to.stage !== change.from.stage) room.decisions.delete(change.layer)
    },
    decided: (said) => decided(room, parts, said),
    unconfirmed(layers, { actor, reason }, { confirmed, of, missing }) {
      const evidence = `confirmed ${confirmed}/${of}; nothing was heard of ${missing.join(', ')}`
      const layer = layers.length === 1 ? (layers[0] ?? 'all') : 'all'
      const both = { from: 'rolled-back', to: 'rolled-back' }
      room.informers?.tell({ kind: 'rollback-failed', at: parts.clock.now(), layer, ...both, actor, reason, evidence })
    },
    allows: (promotion) => room.witness?.allows(promotion) ?? true,
    undo: async (by) => room.informers?.undo(by) ?? { done: false, words: 'nothing is configured' },
    close() {
      room.guard?.close()
      room.informers?.close()
    },
  }
}

interface Named {
  readonly config: GatewayConfig
  readonly base: string
}

async function prepare(room: Room, parts: OutsideParts, { config, base }: Named): Promise<() => void> {
  const { panicFile, kubernetes, notify } = config.folding
  const { serviceName, traceStore } = config.telemetry
  const sections = canonicalJson({ base, kubernetes, notify, serviceName, traceStore })
  const fresh = sections === room.sections ? undefined : await openInformers({ ...parts, config, base })
  const panicPath = panicFile === null ? null : resolveFrom(base, panicFile)
  return () => {
    if (fresh) takeOver(room, parts, fresh)
    room.sections = sections
    if (panicPath === room.panicPath) return
    room.panicPath = panicPath
    void room.guard?.watch(panicPath)
  }
}

function takeOver(room: Room, { log }: OutsideParts, fresh: Informers): void {
  const before = room.informers
  room.informers = fresh
  const { witness, service } = fresh
  const hold = async (layer: string, reason: string): Promise<void> => {
    log.warn({ layer, reason }, 'not promoted')
    await room.stages?.ask('hold', layer, { actor: 'foldgate', reason })
  }
  room.witness = witness && createSecondWitness({ witness, service, log, hold })
  // What is on its way still goes out by the settings that it was written under.
  void before?.settled().then(before.close)
}

/** Every replica hears of a move; the leader tells of it, or everybody who cannot know whether one is there. */
function tells({ stages }: Room): boolean {
  return stages === undefined || stages.state.lead() !== undefined || typeof stages.state.condition === 'object'
}

function decided(room: Room, { clock }: OutsideParts, said: Decided): void {
  const { layer, kind, reason } = said
  room.decisions.set(layer, said)
  // A person's own hold was told when it was made.
  if (kind !== 'hold' || !room.stages || room.stages.isHeld(layer) || !tells(room)) return
  // The same reason comes again with other figures.
  const words = reason.replaceAll(/\d+/g, '#')
  if (room.holds.get(layer) === words) return
  room.holds.set(layer, words)
  const { stage, weight } = room.stages.of(layer)
  const at = stage === 'canary' ? `canary ${weight} %` : stage
  const who = { from: at, to: at, actor: 'foldgate', reason }
  room.informers?.tell({ kind: 'held', at: clock.now(), layer, ...who, evidence: evidenceLine(said) })
}

async function panic(room: Room, parts: OutsideParts, reason: string): Promise<void> {
  const by = { actor: 'signal', reason }
  parts.log.error({ reason }, 'panic: every layer comes back to the gateway')
  room.informers?.tell(panicNotice(parts, by.actor, reason))
  try {
    await room.stages?.rollbackAll(by)
  } catch (fault) {
    parts.log.error({ reason: (fault as Error).message }, 'not every layer could be brought back')
  }
}

function panicNotice({ clock }: OutsideParts, actor: string, reason: string): Notice {
  const home = { from: 'gateway', to: 'gateway' }
  return { kind: 'panic', at: clock.now(), layer: 'all', ...home, actor, reason, evidence: '' }
}
