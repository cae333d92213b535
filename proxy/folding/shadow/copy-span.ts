import type { Call } from '../../../plugins/call.ts'
import type { Target } from '../../../plugins/reply.ts'
import type { Line } from '../../line.ts'
import type { AttemptSpan, CallSpan } from '../../telemetry/call-span.ts'
import { operationFromRoute } from '../../telemetry/gen-ai.ts'

/** Begins the span of one request of a copy, in a trace of its own that is linked to the call's. */
export type CopySpan = (line: Pick<Line, 'address' | 'port'>) => AttemptSpan

/** What a copy is a copy of. */
export interface Copied {
  readonly target: Target
  readonly call: Call
  /** The layer whose new way is tried. */
  readonly moving: string
  /** `old`: as it was answered, once more; `new`: with the moving layer at the runner. */
  readonly copy: 'old' | 'new'
}

/**
 * Tells the spans of copies from those of calls: no layer's status stands on them, and neither stage nor rollout, so nobody who counts calls
 * counts them.
 */
export function copySpan(span: Pick<CallSpan, 'copy'>, { target, call, moving, copy }: Copied): CopySpan {
  return ({ address, port }) =>
    span.copy({
      runner: target.runner,
      model: target.model || undefined,
      operation: operationFromRoute(call.route),
      address,
      port,
      stream: call.request.stream === true,
      attrs: { 'foldgate.arm': 'shadow', 'foldgate.moving': moving, 'foldgate.copy': copy },
    })
}
