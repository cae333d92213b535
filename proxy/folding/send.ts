import { type Asked, verifyAcknowledgement } from '../../plugins/acknowledgement-verify.ts'
import type { ExecutionContext } from '../../plugins/execution-context.ts'
import {
  type ContextRefusal,
  fallbackReasonFromRefusal,
  refusalFromProblem,
} from '../../plugins/execution-context-refusal.ts'
import type { PolicyReport } from '../../plugins/policy-report.ts'
import type { Exchange } from '../exchange.ts'
import type { CallFold, RunnerSaid } from './call-fold.ts'
import type { SealedSend } from './context.ts'
import { Fallback } from './fallback.ts'
import { createPreparing, type FoldedCall, type SendParts } from './prepare.ts'
import type { Instance } from './processes/instance.ts'

/** The bytes of one request, and how it is sent with given headers. */
export interface FoldedRequest {
  readonly body: Buffer
  /** `seal` makes the headers of one send; it is called again should the request have to go out once more. */
  send(seal: () => readonly string[]): Promise<Exchange>
  /** It was answered with this status, and is sent once more. */
  again(status: number): void
}

/** What an acknowledgement is held against, with what the sending side had read. */
export interface AskedSend extends Asked {
  readonly context: Asked['context'] & Pick<ExecutionContext, 'reads' | 'bod'>
}

/** An answer that was acknowledged, and what its end will be held against. */
export interface FoldedExchange {
  readonly exchange: Exchange
  readonly said: RunnerSaid
  readonly asked: AskedSend
}

/** Sends a call with its context. Throws {@link Fallback} for what the runner could not do of it, before anything was served. */
export type SendFolded = (folded: FoldedCall, request: FoldedRequest) => Promise<FoldedExchange>

/** Makes {@link SendFolded}: what a runner that forgot or restarted refuses is put right and sent once more. */
export function createSendFolded(parts: SendParts): SendFolded {
  const prepared = createPreparing(parts)
  return async (folded, request) => {
    for (let cured = false; ; cured = true) {
      const ready = prepared(folded, request.body)
      const { instance, ackKey, policy, seal } = ready instanceof Promise ? await ready : ready
      let sealed: SealedSend | undefined
      const exchange = await request.send(() => {
        sealed = seal()
        return sealed.headers
      })
      const refusal = isProblem(exchange) ? await refusalIn(exchange) : undefined
      if (!refusal && sealed) {
        const { context } = sealed
        const asked = { context, key: ackKey, versions: policy.versions }
        return acknowledged(exchange, { instance, asked, fold: folded.fold })
      }
      if (!refusal) throw new Fallback('runner-error', 'the call was not sent')
      if (refusal.code === 'missing') folded.fold.lost('x-execution-context')
      if (cured || !(await cure(instance, refusal, policy.digest))) {
        throw new Fallback(fallbackReasonFromRefusal(refusal), refusal.detail, refusal.layer ? [refusal.layer] : [])
      }
      request.again(exchange.status)
    }
  }
}

const maxProblemBytes = 4_096

function isProblem({ status, headers }: Exchange): boolean {
  return status >= 400 && (headers['content-type']?.startsWith('application/problem+json') ?? false)
}

async function refusalIn(exchange: Exchange): Promise<ContextRefusal | undefined> {
  return refusalFromProblem(exchange.status, exchange.headers['content-type'], await exchange.whole(maxProblemBytes))
}

/** Puts right what made the runner refuse: it forgot the policy, or it is another process than before. */
async function cure(instance: Instance, { code }: ContextRefusal, digest: string): Promise<boolean> {
  if (code === 'policy-unknown' || code === 'audience') await instance.renew(digest)
  else if (code === 'unsupported') await instance.refresh()
  else {
    // No help for this call; but what the gateway says of the runner is to be true for the next.
    if (code === 'signature' || code === 'expired') instance.doubted()
    return false
  }
  return true
}

interface Acknowledging {
  readonly instance: Instance
  readonly asked: AskedSend
  readonly fold: CallFold
}

/** The runner's word for what it did. An answer without it is not passed on: nobody knows which layers have seen it. */
function acknowledged(exchange: Exchange, { instance, asked, fold }: Acknowledging): FoldedExchange {
  const header = exchange.headers['x-layer-ack']
  const verified = verifyAcknowledgement(typeof header === 'string' ? header : undefined, asked)
  if (!verified.ok) {
    exchange.drop()
    const failed = exchange.status >= 500 && verified.mismatch === 'absent'
    if (failed) throw new Fallback('runner-error', `the runner answered ${exchange.status}`)
    if (verified.mismatch === 'absent') fold.lost('x-layer-ack')
    const words = `the acknowledgement does not hold: ${verified.mismatch}${verified.layer ? ` (${verified.layer})` : ''}`
    const mismatch = { kind: verified.mismatch, layer: verified.layer }
    throw new Fallback('not-acknowledged', words, verified.layer ? [verified.layer] : [], mismatch)
  }
  const { acknowledgement } = verified
  instance.noticed(acknowledgement.runner)
  const soft = softLayersOf(instance.report(asked.context.pol))
  const said = { acknowledgement, beside: instance.capabilities?.placement === 'beside-engine', soft }
  return { exchange, said, asked }
}

const softLayers = new WeakMap<PolicyReport, readonly string[]>()
const none: readonly string[] = []

/** The layers that the runner enforces in part only, worked out once for each report. */
function softLayersOf(report: PolicyReport | undefined): readonly string[] {
  if (!report) return none
  const found =
    softLayers.get(report) ?? Object.keys(report.layers).filter((name) => report.layers[name]?.status === 'soft')
  softLayers.set(report, found)
  return found
}
