import type { Call } from './call.ts'
import type { Chunk } from './chat.ts'
import { gatewayError } from './errors.ts'
import type { Acting, Again } from './layer.ts'
import { dropped, type Ending, Reply } from './reply.ts'
import type { Batch } from './reply-bytes.ts'

const never: Again = async () => {
  throw gatewayError('internal', 'an observer asks nothing again')
}

/**
 * The reply, with an observing layer settling a copy that goes by beside it: the layer's own state is kept as if it had decided, what it
 * makes of the answer is dropped, and nothing it does can fail the live one. Chunks are parsed only if the layer looks at them.
 */
export function observedReply(acting: Acting, call: Call, reply: Reply): Reply {
  if (!acting.settle) return reply
  const queue = createQueue()
  const { status, headers, streamed, includeUsage, source, target } = reply
  const init = { status, headers, streamed, includeUsage, source, ...(target ? { target } : {}) }
  const copy = new Reply(init, { kind: streamed ? 'events' : 'json', batches: queue.batches })
  let settled: Reply | Promise<Reply>
  try {
    settled = acting.settle(call, reply.ok ? copy : reply.with({}), { mode: 'observe', again: never })
  } catch {
    return reply
  }
  if (settled === copy || !reply.ok) return reply
  const wants = settled instanceof Promise || settled.parses
  call.signal.addEventListener('abort', queue.drop, { once: true })
  void Promise.resolve(settled)
    .then((made) => drained(made, copy))
    .catch(() => undefined)
  const end = (ending: Ending): void => {
    call.signal.removeEventListener('abort', queue.drop)
    queue.end(ending)
  }
  return reply.observe(wants ? { chunk: queue.push, end } : { end })
}

async function drained(made: Reply, copy: Reply): Promise<void> {
  if (made === copy) return
  for await (const _ of made.batches());
}

interface Queue {
  readonly batches: AsyncIterable<Batch>
  push(chunk: Chunk): void
  end(ending: Ending): void
  drop(): void
}

/** Chunks on their way from the live answer to the copy. */
function createQueue(): Queue {
  const waiting: Chunk[] = []
  let ending: Ending | undefined
  let wake: (() => void) | undefined
  async function* batches(): AsyncGenerator<Batch> {
    for (;;) {
      if (waiting.length > 0) yield { chunks: waiting.splice(0), commented: false }
      else if (ending?.kind === 'complete') return
      else if (ending) throw ending.kind === 'failed' ? ending.error : dropped
      else await new Promise<void>((resolve) => (wake = resolve))
    }
  }
  const end = (how: Ending): void => {
    ending ??= how
    wake?.()
  }
  return {
    batches: batches(),
    push(chunk) {
      waiting.push(chunk)
      wake?.()
    },
    end,
    drop: () => end({ kind: 'aborted' }),
  }
}
