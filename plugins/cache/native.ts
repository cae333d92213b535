import { headerNames } from '../headers.ts'
import type { Seat } from '../host.ts'
import type { NativeContract, StepFinding } from '../layer.ts'
import { essence } from './essence.ts'
import { claimsOf } from './fact-names.ts'
import { actCache } from './gateway.ts'
import { probes } from './probes.ts'
import { type CacheStep, cacheStep, maxStepBytes } from './step.ts'
import type { Scorer } from './validation.ts'

/** The half at the runner. */
export const native: NativeContract<CacheStep> = {
  version: 1,
  step: cacheStep,
  stateful: true,
  act: actCache,
  inspect,
  essence,
  headers: ({ clientHints, headerPrefix }) =>
    clientHints ? ['cache-control', headerNames(headerPrefix).cacheHint] : [],
  claims: claimsOf,
  probes,
}

/** A scorer that the runner cannot reach would mean that nothing is ever stored; curated answers beyond the bound would be missing. */
function inspect(step: CacheStep, seat: Seat): StepFinding {
  const scorer = step.output_validation?.quality_score?.scorer
  const unreachable = scorer && scorerFinding(scorer, seat)
  if (unreachable) return unreachable
  const bytes = Buffer.byteLength(JSON.stringify(step))
  if (bytes <= maxStepBytes) return { status: 'compiled' }
  return {
    status: 'refused',
    code: 'UNRESOLVED_REF',
    path: 'pins',
    limit: maxStepBytes,
    value: bytes,
    try: 'give fewer or shorter curated answers, or leave the cache in the gateway',
  }
}

function scorerFinding(scorer: Scorer, seat: Seat): StepFinding | undefined {
  const at = 'output_validation.quality_score.scorer'
  if ('url' in scorer) {
    if (seat.allows(scorer.url)) return undefined
    const { host } = new URL(scorer.url)
    const way = `allow ${host} with the runner's --egress, or leave the score out`
    return { status: 'refused', code: 'EGRESS_DENIED', path: `${at}.url`, value: host.slice(0, 512), try: way }
  }
  if (seat.runners.names.includes(scorer.runner)) return undefined
  const way = 'name a scorer by its url, or leave the score out'
  return { status: 'refused', code: 'UNRESOLVED_REF', path: `${at}.runner`, value: scorer.runner, try: way }
}
