import type { Route } from '../../plugins/chat.ts'
import { type FallbackReason, fallbackCauses } from '../../plugins/execution-context-fallback.ts'
import type { Count } from '../../plugins/host.ts'

/** Who produced an answer: the gateway itself (refusals, cache), the runner, another runner after a failure, or load shedding. */
export type Source = 'gateway' | 'runner' | 'fallback' | 'shed'
/** Where the moving layer of a call decided. */
export type Arm = 'gateway' | 'shadow' | 'proving' | 'native'
/** `request` is a layer's way in, `response` its way back, `stream` its work on a stream's pieces. */
export type Phase = 'request' | 'response' | 'stream'
/** What the layer-status header says of one layer. */
export type LayerStatus =
  | 'active'
  | 'evaporation-started'
  | 'evaporation-accelerating'
  | 'evaporation-complete'
  | 'evaporation-bypassed'
  | 'fallback'
/** Who executed a layer. */
export type Executor = 'gateway' | 'runner' | 'none'
/** `estimated` are tokens that the gateway counted itself because the runner did not say. */
export type TokenKind = 'input' | 'output' | 'cached' | 'reasoning' | 'estimated'
/** A header that goes missing. */
export type MissedHeader = 'x-execution-context' | 'x-layer-ack' | 'x-layer-ack-end' | 'layer-status'
/** Where it was missed: on the way into the runner or out of it, or on the way to the client. */
export type MissedAt = 'runner-in' | 'runner-out' | 'client-in' | 'client-out'
/** What became of a step at a runner; `failed`: it was never answered. */
export type CompileResult = 'compiled' | 'soft' | 'refused' | 'failed'
/**
 * Why a comparison, a copy of a call or a question to a runner was given up: too many wait or are under way, tokens are spent, live calls
 * are slow, it is off, or it failed.
 */
export type DropReason = 'queue-full' | 'inflight' | 'tokens' | 'live-traffic' | 'off' | 'failed'
/** How a try at a runner ended: it answered, refused the request (4xx), failed, or the caller went away first. */
export type RunnerOutcome = 'ok' | 'refused' | 'failed' | 'left'
/**
 * What caches did for a call: the answer was stored, the runner had some of the prompt in its KV cache, or none; `unknown`: nobody read the
 * usage, or the runner does not say.
 */
export type CacheState = 'answer' | 'prefix' | 'none' | 'unknown'
/** What became of a configuration that was read again. */
export type ReloadResult = 'applied' | 'refused'
/** What a comparison was counted as. */
export type ShadowVerdict = 'equal' | 'differs' | 'ignored' | 'skipped'
/** What becomes of a layer that moves. */
export type DecisionKind = 'rollback' | 'hold' | 'promote' | 'continue'
/** Who takes layers back. */
export type RollbackCause = 'controller' | 'operator' | 'taken-along'
/** What may be dropped instead of slowing a call. */
export type Signal = 'traces' | 'logs'

/** Every value of a closed list; the compiler refuses one that is missing or made up. */
const all = <V extends string>(values: Readonly<Record<V, 1>>): readonly V[] => Object.keys(values) as V[]

/** The closed lists that labels take their values from. */
export const labelValues = {
  route: all<Route>({ chat: 1, completions: 1, messages: 1, embeddings: 1, models: 1, passthrough: 1 }),
  source: all<Source>({ gateway: 1, runner: 1, fallback: 1, shed: 1 }),
  arm: all<Arm>({ gateway: 1, shadow: 1, proving: 1, native: 1 }),
  phase: all<Phase>({ request: 1, response: 1, stream: 1 }),
  status: all<LayerStatus>({
    active: 1,
    'evaporation-started': 1,
    'evaporation-accelerating': 1,
    'evaporation-complete': 1,
    'evaporation-bypassed': 1,
    fallback: 1,
  }),
  by: all<Executor>({ gateway: 1, runner: 1, none: 1 }),
  kind: all<TokenKind>({ input: 1, output: 1, cached: 1, reasoning: 1, estimated: 1 }),
  reason: Object.keys(fallbackCauses) as readonly FallbackReason[],
  header: all<MissedHeader>({ 'x-execution-context': 1, 'x-layer-ack': 1, 'x-layer-ack-end': 1, 'layer-status': 1 }),
  where: all<MissedAt>({ 'runner-in': 1, 'runner-out': 1, 'client-in': 1, 'client-out': 1 }),
  result: all<CompileResult>({ compiled: 1, soft: 1, refused: 1, failed: 1 }),
  drop: all<DropReason>({ 'queue-full': 1, inflight: 1, tokens: 1, 'live-traffic': 1, off: 1, failed: 1 }),
  verdict: all<ShadowVerdict>({ equal: 1, differs: 1, ignored: 1, skipped: 1 }),
  decision: all<DecisionKind>({ rollback: 1, hold: 1, promote: 1, continue: 1 }),
  cause: all<RollbackCause>({ controller: 1, operator: 1, 'taken-along': 1 }),
  signal: all<Signal>({ traces: 1, logs: 1 }),
  outcome: all<RunnerOutcome>({ ok: 1, refused: 1, failed: 1, left: 1 }),
  cache: all<CacheState>({ answer: 1, prefix: 1, none: 1, unknown: 1 }),
  reload: all<ReloadResult>({ applied: 1, refused: 1 }),
  count: all<Count>({
    'cache.hit': 1,
    'cache.miss': 1,
    'cache.bypass': 1,
    'cache.hash-field-absent': 1,
    'cache.stored': 1,
    'cache.not-stored': 1,
    'cache.coalesced': 1,
    'rate-limit.refused': 1,
    'rate-limit.refunded': 1,
    'rate-limit.cut': 1,
    'rate-limit.store-lost': 1,
    'rate-limit.estimated-usage': 1,
    'auth.refused': 1,
    'auth.jwks-failed': 1,
    'prompt.context-dropped': 1,
    'postprocess.redacted': 1,
    'postprocess.blocked': 1,
    'postprocess.retried': 1,
    'postprocess.repaired': 1,
    'postprocess.review-sent': 1,
    'postprocess.review-failed': 1,
    'routing.ejected': 1,
  }),
} as const
