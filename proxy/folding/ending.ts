import { type Acknowledgement, mergedAcknowledgement } from '../../plugins/acknowledgement.ts'
import { verifyAcknowledgementEnd } from '../../plugins/acknowledgement-verify.ts'
import type { Call } from '../../plugins/call.ts'
import type { Usage } from '../../plugins/chat.ts'
import type { Acting } from '../../plugins/layer.ts'
import type { RateLimitActing } from '../../plugins/rate-limit/index.ts'
import type { Ending } from '../../plugins/reply.ts'
import type { Exchange } from '../exchange.ts'
import { withCaller } from './acknowledged-caller.ts'
import type { CallFold } from './call-fold.ts'
import type { FoldedExchange } from './send.ts'

/** What happens here when an acknowledged answer has ended. */
export interface EndingParts {
  readonly acting: ReadonlyMap<string, Acting>
  /** A stream ended whole without its final acknowledgement, or with one that does not hold. */
  unacknowledged(layers: readonly string[]): void
  used(usage: Usage): void
}

/**
 * Takes the final acknowledgement of a stream, and posts what a limit at the runner has counted to the gateway's own counters, so that
 * falling back or rolling back never hands out a second quota.
 */
export function endFolded(
  fold: CallFold,
  folded: FoldedExchange,
  ending: Ending,
  { call, parts }: { call: Call; parts: EndingParts },
): void {
  const { exchange, asked, said } = folded
  const head = said.acknowledgement
  let whole = head
  const trailer = exchange.trailers['x-layer-ack-end']
  if (typeof trailer === 'string') {
    const end = verifyAcknowledgementEnd(trailer, asked, head)
    if (end.ok) whole = mergedAcknowledgement(head, end.acknowledgement)
    else parts.unacknowledged(end.layer ? [end.layer] : armedOf(head))
  } else if (ending.kind === 'complete' && isStream(exchange)) {
    fold.lost('x-layer-ack-end')
    parts.unacknowledged(armedOf(head))
  }
  fold.said = { ...said, acknowledgement: whole }
  const usage = usageOf(whole)
  if (usage) parts.used(usage)
  const limit = whole.layers['rate-limit']
  // An observing half has counted the call already.
  if (limit?.m !== 'enforce' || limit.o === 'refuse' || fold.observed.has('rate-limit')) return
  const used = limit.used ?? usage?.total_tokens ?? (ending.kind === 'complete' ? limit.rsv : 0) ?? 0
  const limiter = parts.acting.get('rate-limit') as RateLimitActing | undefined
  limiter?.charge?.(withCaller(call, whole), used)
}

/** Streams end with a final part; answers that came whole have said everything at once. */
function isStream({ headers }: Exchange): boolean {
  return /event-stream/i.test(headers['content-type'] ?? '')
}

function armedOf({ layers }: Acknowledgement): string[] {
  return Object.keys(layers).filter((name) => layers[name]?.o === 'armed')
}

function usageOf({ usage }: Acknowledgement): Usage | undefined {
  if (usage?.in === undefined && usage?.out === undefined) return undefined
  const { in: input = 0, out = 0, cached } = usage
  return {
    prompt_tokens: input,
    completion_tokens: out,
    total_tokens: input + out,
    ...(cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: cached } }),
  }
}
