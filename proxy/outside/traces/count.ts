import { fallbackCauses } from '../../../plugins/execution-context-fallback.ts'
import { attributeNames } from '../../telemetry/gen-ai.ts'
import type { ArmCount, ArmCounts, WitnessQuestion, WitnessSpan } from './question.ts'

/**
 * Counts the calls among spans by arm. A call is the span that bears `foldgate.layer.<name>.status` of the layer asked for; stores
 * give whole traces, with other calls in them, so everything asked for is checked again here. A span counts once.
 */
export function countSpans(spans: Iterable<WitnessSpan>, question: WitnessQuestion): ArmCounts {
  const arms = new Map<string, ArmCount>()
  const seen = new Set<string>()
  for (const span of spans) {
    if (seen.has(span.id) || !isAskedFor(span, question)) continue
    seen.add(span.id)
    const arm = armOf(span, question)
    const { calls, bad, fallbacks } = arms.get(arm) ?? { calls: 0, bad: 0, fallbacks: 0 }
    const fellBack = isFallback(span, question.layer)
    arms.set(arm, { calls: calls + 1, bad: bad + Number(span.failed), fallbacks: fallbacks + Number(fellBack) })
  }
  return Object.fromEntries(arms)
}

/** Only what falls back in a canary has left the arm that it was drawn into. */
function armOf({ attributes }: WitnessSpan, { layer, arm }: WitnessQuestion): string {
  const fellBack = attributes[`foldgate.layer.${layer}.status`] === 'fallback'
  return fellBack && arm !== undefined ? arm : String(attributes[attributeNames.arm] ?? 'unknown')
}

function isAskedFor({ attributes, startMs }: WitnessSpan, question: WitnessQuestion): boolean {
  return (
    attributes[`foldgate.layer.${question.layer}.status`] !== undefined &&
    attributes[attributeNames.rollout] === question.rollout &&
    attributes[attributeNames.stage] === question.stage &&
    // Who chose a side is in nobody's figures.
    attributes['foldgate.chosen'] !== true &&
    startMs >= question.fromMs &&
    startMs < question.toMs
  )
}

/** What callers and people cause is no evidence. */
function isFallback({ attributes }: WitnessSpan, layer: string): boolean {
  if (attributes[`foldgate.layer.${layer}.status`] !== 'fallback') return false
  const reason = attributes[`foldgate.layer.${layer}.reason`] ?? attributes[attributeNames.fallbackReason]
  const causes: Readonly<Record<string, string>> = fallbackCauses
  return (causes[String(reason)] ?? 'runner') === 'runner'
}
