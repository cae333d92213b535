import type { ErrorCode } from '../../../plugins/errors.ts'
import { type FallbackReason, fallbackCauses } from '../../../plugins/execution-context-fallback.ts'
import type { CallEnd } from '../../telemetry/call-span.ts'
import type { AttributeName, Attributes } from '../../telemetry/gen-ai.ts'
import type { Arm, RolloutStep } from '../rollout/evidence-counts.ts'

/** A call of a rollout that has ended, as the attributes of its span tell it: nothing else is read. */
export interface EndedCall {
  readonly rollout: string
  /** The layer that moves. */
  readonly layer: string
  /** The step that it was drawn in; undefined where the span does not say. */
  readonly step: RolloutStep | undefined
  readonly tier: string
  /** The arm that it was drawn into, whatever became of it. */
  readonly arm: Arm
  /** Short hashes. */
  readonly unit: string
  readonly tenant: string
  /** When it began, in milliseconds since the epoch. */
  readonly startedAt: number
  /** The HTTP status, 499 where the caller went away. */
  readonly code: number
  readonly error: ErrorCode | undefined
  /** It was shed under load, by its caller's leave. */
  readonly shed: boolean
  /** Its caller chose the side itself. */
  readonly chosen: boolean
  readonly runner: string | undefined
  readonly firstByteMs: number | undefined
  /** Why the moving layer fell back; undefined: it did not. */
  readonly fallback: FallbackReason | undefined
  /** The fallback was about the moving layer, which was not only taken along. */
  readonly atFault: boolean
  /** In what way the acknowledgement of the moving layer was not what was asked for. */
  readonly mismatch: string | undefined
  /** A stream ended without the last word of the moving layer. */
  readonly unacknowledged: boolean
  /** What was wrong with the answer itself. */
  readonly broken: string | undefined
  readonly kind: CallKind
  /** What was seen of its answer; undefined where nobody looked. */
  readonly answer: SeenAnswer | undefined
}

/** What was seen of an answer. */
export interface SeenAnswer {
  readonly cut: boolean
  readonly declined: boolean
  /** Length of its text in UTF-16 units. */
  readonly chars: number
}

/** What kind of call it was, as far as evidence is kept apart by it. */
export interface CallKind {
  readonly stream: boolean
  readonly tools: boolean
  readonly json: boolean
  /** A size bucket of `diff/strata.ts`; empty where nobody knows. */
  readonly size: string
  readonly cacheHit: boolean
  readonly model: string
}

const steps: ReadonlySet<unknown> = new Set<RolloutStep>(['shadow', 'S1', 'S2', 'S3', 'S4'])

/** The call of a span's end; undefined where nothing moved, or where the call ended before it was drawn. */
export function endedCallFrom({ code, source, error, attrs }: CallEnd): EndedCall | undefined {
  const [layer, rollout, unit] = [attrs?.['foldgate.moving'], attrs?.['foldgate.rollout'], attrs?.['foldgate.unit']]
  if (!attrs || typeof layer !== 'string' || typeof rollout !== 'string' || typeof unit !== 'string') return undefined
  const fellBack = attrs[`foldgate.layer.${layer}.status`] === 'fallback'
  const firstByteMs = attrs['foldgate.first_byte_ms']
  return {
    rollout,
    layer,
    step: stepOf(attrs),
    tier: text(attrs, 'foldgate.tier'),
    // What falls back is served like the control, and was not drawn into it.
    arm: fellBack || attrs['foldgate.arm'] === 'proving' ? 'canary' : 'control',
    unit,
    tenant: text(attrs, 'foldgate.tenant') || unit,
    startedAt: Number(attrs['foldgate.started_at'] ?? 0),
    code,
    error,
    shed: source === 'shed',
    chosen: attrs['foldgate.chosen'] === true,
    runner: text(attrs, 'foldgate.runner') || undefined,
    firstByteMs: typeof firstByteMs === 'number' ? firstByteMs : undefined,
    fallback: fellBack ? reasonOf(attrs, layer) : undefined,
    atFault: names(attrs, 'foldgate.fallback.layers', layer) ?? true,
    mismatch: mismatchOf(attrs, layer),
    unacknowledged: names(attrs, 'foldgate.unacknowledged', layer) ?? false,
    broken: text(attrs, 'foldgate.broken') || undefined,
    kind: kindOf(attrs),
    answer: answerOf(attrs),
  }
}

function answerOf(attrs: Attributes): SeenAnswer | undefined {
  const chars = attrs['foldgate.answer.chars']
  if (typeof chars !== 'number') return undefined
  const finish = attrs['foldgate.answer.finish']
  return { cut: finish === 'length', declined: attrs['foldgate.answer.declined'] === true, chars }
}

function stepOf(attrs: Attributes): RolloutStep | undefined {
  if (attrs['foldgate.stage'] === 'shadow') return 'shadow'
  const step = attrs['foldgate.step']
  return steps.has(step) ? (step as RolloutStep) : undefined
}

function kindOf(attrs: Attributes): CallKind {
  return {
    stream: attrs['foldgate.stream'] === true,
    tools: attrs['foldgate.tools'] === true,
    json: attrs['foldgate.json'] === true,
    size: text(attrs, 'foldgate.size'),
    cacheHit: attrs['foldgate.cache_hit'] === true,
    model: text(attrs, 'gen_ai.request.model'),
  }
}

/** A fallback whose reason is not on the list is still one, and the runner's. */
function reasonOf(attrs: Attributes, layer: string): FallbackReason {
  const said = attrs[`foldgate.layer.${layer}.reason`] ?? attrs['foldgate.fallback.reason']
  return typeof said === 'string' && Object.hasOwn(fallbackCauses, said) ? (said as FallbackReason) : 'runner-error'
}

function mismatchOf(attrs: Attributes, layer: string): string | undefined {
  const [kind, of] = text(attrs, 'foldgate.mismatch').split(' ')
  return kind && (of === undefined || of === layer) ? kind : undefined
}

/** Whether a list of layers names this one; undefined where there is no list. */
function names(attrs: Attributes, attribute: AttributeName, layer: string): boolean | undefined {
  const list = attrs[attribute]
  return typeof list === 'string' && list !== '' ? list.split(' ').includes(layer) : undefined
}

function text(attrs: Attributes, attribute: AttributeName): string {
  const value = attrs[attribute]
  return typeof value === 'string' ? value : ''
}
