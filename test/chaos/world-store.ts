import type { RedisLine } from '../../config/store/redis-line.ts'
import { gatewayError } from '../../plugins/errors.ts'
import type { Memory } from '../../plugins/store.ts'
import type { StageDocument } from '../../proxy/folding/state/document.ts'
import { historyScript, recordsFromReply } from '../../proxy/folding/state/log.ts'
import { documentFromText, stateKeys } from '../../proxy/folding/state/scripts.ts'
import type { StageChangeRecord } from '../../proxy/folding/state/state.ts'

/** What becomes of one question to the store. `late`: it arrives so many milliseconds later than it was sent. */
export type Fate = 'done' | 'lost' | 'lost-after' | { readonly late: number }

/** Who asks the store what, for whoever plans faults. */
export interface StoreAsk {
  readonly replica: string
  /** The name of the script, such as `stages-transition`. */
  readonly script: string
}

/** The one store of a world: the product's scripts over a memory that can be lost, set back, cut off and made slow. */
export interface WorldStore {
  /** The way of one replica to it. */
  line(replica: string): RedisLine
  /** Nobody reaches it. */
  down: boolean
  /** Decides over every question that reaches it. Default: all are done. */
  fate: (ask: StoreAsk) => Fate
  /** Its clock, ahead of the world's, in milliseconds. */
  skewMs: number
  save(): void
  /** A failover: all since {@link save} is lost. */
  loseSinceSave(): void
  loseAll(): void
  readonly stored: StageDocument | undefined
  /** The latest changes, oldest first. */
  history(): readonly StageChangeRecord[]
}

interface Clocked {
  now(): number
  after(ms: number, action: () => void): () => void
}

interface Kept {
  readonly value: string
  readonly until: number
}

/** Makes a {@link WorldStore}. */
export function createWorldStore(clock: Clocked): WorldStore {
  let values = new Map<string, Kept>()
  let saved = new Map<string, Kept>()
  const now = (): number => clock.now() + store.skewMs
  const memory: Memory = {
    get now() {
      return now()
    },
    get(key) {
      const kept = values.get(key)
      return kept && kept.until > now() ? kept.value : undefined
    },
    set: (key, value, ttlMs) => void values.set(key, { value, until: ttlMs === undefined ? Infinity : now() + ttlMs }),
    delete: (key) => void values.delete(key),
  }
  const run = async (replica: string, [script, keys, args]: Parameters<RedisLine['run']>) => {
    const fate = store.fate({ replica, script: script.name })
    if (typeof fate === 'object') await new Promise<void>((done) => clock.after(fate.late, done))
    if (store.down || fate === 'lost') throw gatewayError('store_lost', 'the store is away')
    const reply = script.local(memory, keys, args.map(String))
    if (fate === 'lost-after') throw gatewayError('store_lost', 'the answer is lost')
    return reply
  }
  const store: WorldStore = {
    down: false,
    skewMs: 0,
    fate: () => 'done',
    line: (replica) => ({
      run: (...asked) => run(replica, asked),
      write: async (asked) => ({ reply: await run(replica, asked), replicated: 1 }),
      // Announcements are only hints: here all of them are lost.
      listen: async () => undefined,
      up: () => !store.down,
      close: () => undefined,
    }),
    save() {
      saved = new Map(values)
    },
    loseSinceSave() {
      values = new Map(saved)
    },
    loseAll() {
      values = new Map()
    },
    get stored() {
      return documentFromText(memory.get(stateKeys.state))
    },
    history: () => recordsFromReply(historyScript.local(memory, [stateKeys.log], ['200'])),
  }
  return store
}
