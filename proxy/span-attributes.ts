import { hash } from 'node:crypto'
import { lookAt } from './answer-looks.ts'
import type { CallRecord } from './call-record.ts'
import type { CallFold } from './folding/call-fold.ts'
import { strataFromCall } from './folding/diff/strata.ts'
import type { LayerState } from './layer-status.ts'
import { type Attributes, layerAttributes } from './telemetry/gen-ai.ts'
import type { Arm } from './telemetry/metric-values.ts'

/** What a call's span is told of its layers and its rollout. */
export interface SpanFacts {
  readonly record: CallRecord
  readonly states: readonly LayerState[]
  readonly arm: Arm
  /** What the caller knows the call by. */
  readonly requestId: string
}

/**
 * The attributes of a call's span: where every layer ran, and, while a layer moves, everything that decisions rest on. Callers, tenants and
 * conversations stand there as short hashes only. Where nothing moves or falls back and nobody records, there are none,
 * and nothing is spent.
 */
export function spanAttributes({ record, states, arm, requestId }: SpanFacts): Attributes | undefined {
  const { fold, span } = record
  const counts = fold !== undefined && (fold.rollout !== undefined || fold.fallbacks.size > 0)
  if (!span.recording && !counts) return undefined
  const attrs: Record<string, string | number | boolean | undefined> = { 'foldgate.arm': arm }
  for (const { name, status, by, reason } of states) Object.assign(attrs, layerAttributes(name, { status, by, reason }))
  if (span.recording) Object.assign(attrs, attributesToFollow(record, requestId))
  if (!fold) return attrs
  const moving = [...fold.stages].find(([, stage]) => stage === 'shadow' || stage === 'canary')
  const principal = record.call?.facts.principal
  Object.assign(attrs, {
    'foldgate.fallback.reason': fold.reason,
    'foldgate.policy.digest': fold.said?.acknowledgement.runner.pol?.slice(0, 16),
    'foldgate.moving': moving?.[0],
    'foldgate.stage': moving?.[1],
    'foldgate.rollout': fold.rollout,
    'foldgate.unit': fold.unit === undefined ? undefined : unitHash(fold.unit),
    'foldgate.tenant': principal && shortHash(principal.tenant),
    'foldgate.tier': principal?.tier,
    'foldgate.first_byte_ms': record.firstByteMs,
    // What falls back is sent once more, elsewhere perhaps: who let it down stands first.
    'foldgate.runner': record.attempts.at(fold.reason ? 0 : -1)?.target.runner,
    'foldgate.unacknowledged': fold.unacknowledged.length > 0 ? fold.unacknowledged.join(' ') : undefined,
  } satisfies Attributes)
  if (moving) Object.assign(attrs, attributesOfMove(record, fold, moving[0]))
  return attrs
}

/** What somebody who follows one call looks for: its id, and what the gateway told the caller that it took. */
function attributesToFollow({ firstByteMs }: CallRecord, requestId: string): Attributes {
  return {
    'foldgate.call.id': requestId,
    'foldgate.execution_time_us': firstByteMs === undefined ? undefined : Math.round(firstByteMs * 1_000),
  }
}

function attributesOfMove(record: CallRecord, fold: CallFold, moving: string): Attributes {
  const { step, chosen, atFault, mismatch, broken = [] } = fold
  const cacheHit = record.source === 'cache' || fold.said?.acknowledgement.layers['cache']?.o === 'answer'
  const look = lookAt(record)
  const strata = record.call && strataFromCall(record.call, { cacheHit })
  return {
    'foldgate.step': step,
    'foldgate.started_at': record.startedAt,
    'foldgate.chosen': chosen || undefined,
    'foldgate.fallback.layers': atFault.join(' ') || undefined,
    'foldgate.mismatch': mismatch && [mismatch.kind, mismatch.layer].filter(Boolean).join(' '),
    'foldgate.broken': broken.join(' ') || undefined,
    'foldgate.stream': strata?.stream,
    'foldgate.tools': strata?.tools,
    'foldgate.json': strata?.json,
    'foldgate.size': strata?.size,
    'foldgate.cache_hit': cacheHit,
    'foldgate.answer.finish': look?.finish,
    'foldgate.answer.declined': look?.declined || undefined,
    'foldgate.answer.chars': look?.chars,
    // Where the model is what is chosen, it tells the two sides apart and not the calls.
    'gen_ai.request.model': moving === 'routing' ? undefined : record.attempts.at(-1)?.target.model || undefined,
  }
}

/** A unit as spans and counts name it: a short hash, the tenant's own where the unit is the tenant. */
export function unitHash(unit: string): string {
  return shortHash(unit.startsWith('t:') ? unit.slice(2) : unit)
}

/** Enough of a digest to tell units apart, and nothing to find out who they are by guessing at random. */
export function shortHash(text: string): string {
  return hash('sha256', text).slice(0, 16)
}
