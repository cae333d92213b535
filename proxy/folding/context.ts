import type { Call } from '../../plugins/call.ts'
import { textFromCredentials } from '../../plugins/caller-credential.ts'
import { contextFactsFromCall, type FactWishes } from '../../plugins/context-call.ts'
import { bodyDigest, createContext, credentialDigest, type ExecutionContext } from '../../plugins/execution-context.ts'
import {
  type ContextFacts,
  type ContextModes,
  type LayerReads,
  maxReadsBytes,
} from '../../plugins/execution-context-facts.ts'
import { sealContext } from '../../plugins/execution-context-seal.ts'
import type { SigningKey } from '../../plugins/jws-key.ts'
import type { Acting, Layer } from '../../plugins/layer.ts'
import { Fallback } from './fallback.ts'
import type { FoldedPolicy } from './policies.ts'

/** What one send is about. */
export interface ContextAsk {
  readonly call: Call
  /** The bytes that are sent. */
  readonly body: Buffer
  readonly modes: ContextModes
  readonly attempt: number
  readonly shadow: boolean
  /** Boot id and largest context of the instance. */
  readonly aud: string
  readonly maxBytes: number
  readonly policy: FoldedPolicy
  /** What those who decided here had read, where they cannot be asked any more. */
  readonly reads?: ReadonlyMap<string, LayerReads>
}

/** A context on its way: what was said, and the headers that say it. */
export interface SealedSend {
  readonly context: ExecutionContext
  readonly headers: readonly string[]
}

/** What contexts are made with. */
export interface ContextParts {
  readonly layers: readonly Layer[]
  readonly acting: ReadonlyMap<string, Acting>
  readonly key: SigningKey
  /** Id of this gateway. */
  readonly iss: string
  now(): number
}

/** Makes the contexts of sends. Throws {@link Fallback} for what a caller made too large. */
export function createContexts(parts: ContextParts): (ask: ContextAsk) => SealedSend {
  const wishes = createWishes(parts.layers)
  const telling = [...parts.acting].filter(([, acting]) => acting.tells)
  return ({ call, body, modes, attempt, shadow, aud, maxBytes, policy, reads: known }) => {
    const wish = wishes(policy, modes)
    const credential = wish.credentials.length > 0 ? textFromCredentials(call.headers, wish.credentials) : undefined
    const reads = readsOf((name) => known?.get(name) ?? parts.acting.get(name)?.reads?.(call), modes)
    const context = createContext({
      id: call.id,
      attempt,
      shadow,
      iss: parts.iss,
      aud,
      sentAtMs: parts.now(),
      now: call.now,
      pol: policy.digest,
      bod: bodyDigest(body),
      ...(credential === undefined ? {} : { crd: credentialDigest(credential) }),
      modes,
      facts: withTold(contextFactsFromCall(call, wish), telling, modes),
      ...(reads ? { reads } : {}),
    })
    const sealed = sealContext(context, parts.key, maxBytes)
    if (!sealed.ok) throw new Fallback(sealed.reason, sealed.detail)
    const headers = ['x-execution-context', sealed.header]
    if (credential !== undefined) headers.push('x-caller-credential', credential)
    return { context, headers }
  }
}

/** The facts, with what the halves of acting layers are to know beside. */
function withTold(
  facts: ContextFacts,
  telling: readonly (readonly [string, Acting])[],
  modes: ContextModes,
): ContextFacts {
  let all = facts
  for (const [name, acting] of telling) {
    const told = modes[name] === undefined ? undefined : acting.tells?.()
    if (told) all = { ...all, ...told }
  }
  return all
}

interface Wishes extends FactWishes {
  readonly credentials: readonly string[]
}

/** What the acting layers need to be told, worked out once for each policy and set of modes; most sends come with the same object. */
function createWishes(layers: readonly Layer[]): (policy: FoldedPolicy, modes: ContextModes) => Wishes {
  const known = new WeakMap<FoldedPolicy, { readonly byText: Map<string, Wishes>; last?: [ContextModes, Wishes] }>()
  return (policy, modes) => {
    const made = known.get(policy) ?? { byText: new Map<string, Wishes>() }
    known.set(policy, made)
    if (made.last?.[0] === modes) return made.last[1]
    const text = JSON.stringify(modes)
    const found = made.byText.get(text) ?? wishesFrom(layers, policy, modes)
    made.byText.set(text, found)
    made.last = [modes, found]
    return found
  }
}

function wishesFrom(layers: readonly Layer[], { policy }: FoldedPolicy, modes: ContextModes): Wishes {
  const acting = layers.filter(({ name }) => modes[name] !== undefined)
  const stepOf = (name: string): unknown => policy.steps.find(({ layer }) => layer === name)?.step
  const all = (list: (layer: Layer) => readonly string[] | undefined): string[] => [
    ...new Set(acting.flatMap((layer) => list(layer) ?? [])),
  ]
  const tells = acting.find(({ writes }) => writes.includes('principal'))
  const reads = acting.some((layer) => layer.reads.includes('principal'))
  return {
    // A runner that finds out itself who is calling is not told.
    principal: reads && (!tells || modes[tells.name] === 'observe'),
    claims: all(({ name, native }) => native?.claims?.(stepOf(name))),
    headers: all(({ name, native }) => native?.headers?.(stepOf(name))),
    credentials: all(({ name, native }) => native?.credentials?.(stepOf(name))),
  }
}

function largestOf(found: Readonly<Record<string, LayerReads>>): string {
  const sizes = Object.entries(found).map(([name, reads]) => [name, JSON.stringify(reads).length] as const)
  return sizes.reduce((most, each) => (each[1] > most[1] ? each : most))[0]
}

/** What those who decide here have read, for those who observe there; where all of it is too much, those with most to say go without. */
function readsOf(
  readBy: (layer: string) => LayerReads | undefined,
  modes: ContextModes,
): Readonly<Record<string, LayerReads>> | undefined {
  const found: Record<string, LayerReads> = {}
  let some = false
  for (const name in modes) {
    const reads = modes[name] === 'observe' ? readBy(name) : undefined
    if (!reads) continue
    found[name] = reads
    some = true
  }
  if (!some) return undefined
  while (Buffer.byteLength(JSON.stringify(found)) > maxReadsBytes) delete found[largestOf(found)]
  return Object.keys(found).length > 0 ? found : undefined
}
