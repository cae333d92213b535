import type { Ending } from '../../../plugins/reply.ts'
import type { Exchange } from '../../exchange.ts'
import type { CallFold } from '../call-fold.ts'
import type { FoldedExchange } from '../send.ts'
import type { StreamCheck, StreamChecks } from './stream-checks.ts'

/** What was sent, and how long a silence is borne, in milliseconds. */
export interface SentCall {
  readonly body: Buffer
  readonly idleMs: number
}

/** Has the streams of a canary looked at, and those beside it. */
export interface StreamSide {
  /** The exchange, looked at as its bytes go by where it is such a stream; else the very same. */
  tapped(fold: CallFold, folded: FoldedExchange, sent: SentCall): Exchange
  /** It has ended: what is broken is noted on the call. */
  ended(fold: CallFold, folded: FoldedExchange, ending: Ending): void
}

/**
 * Makes a {@link StreamSide}. While a layer is in canary every stream is looked at, whoever decides: were those beside the canary looked at
 * less, the canary would seem to break more.
 */
export function createStreamSide(streams: StreamChecks): StreamSide {
  const open = new WeakMap<FoldedExchange, StreamCheck>()
  return {
    tapped(fold, folded, { body, idleMs }) {
      const { exchange } = folded
      const moving = [...fold.stages].find(([, stage]) => stage === 'canary')?.[0]
      if (moving === undefined || !isStream(exchange)) return exchange
      const arm = fold.modes.get(moving) === 'enforce' ? 'canary' : 'control'
      const check = streams.open({ usage: asksForUsage(body), idleMs, arm })
      if (!check) return exchange
      open.set(folded, check)
      return withBody(exchange, (parts) => check.tap(parts))
    },
    ended(fold, folded, { kind }) {
      const broken = open.get(folded)?.end(kind)
      open.delete(folded)
      if (broken && broken.length > 0) fold.broken = broken
    },
  }
}

function isStream({ status, headers }: Exchange): boolean {
  const coding = headers['content-encoding']
  const plain = coding === undefined || coding === 'identity'
  return status === 200 && plain && /event-stream/i.test(headers['content-type'] ?? '')
}

const usageMember = Buffer.from('"include_usage"')

/** Told by the bytes, since nobody may have read them: inside a string its quotes would be escaped. */
function asksForUsage(body: Buffer): boolean {
  const at = body.indexOf(usageMember)
  return at >= 0 && /^\s*:\s*true/.test(body.toString('latin1', at + usageMember.length, at + usageMember.length + 16))
}

function withBody(exchange: Exchange, change: (body: AsyncIterable<Buffer>) => AsyncIterable<Buffer>): Exchange {
  return {
    status: exchange.status,
    headers: exchange.headers,
    get body() {
      return change(exchange.body)
    },
    whole: (maxBytes) => exchange.whole(maxBytes),
    firstByte: () => exchange.firstByte(),
    get trailers() {
      return exchange.trailers
    },
    drop: () => exchange.drop(),
  }
}
