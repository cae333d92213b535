import type { LegacyConfig } from '../../config/shadow.ts'
import type { Call } from '../../plugins/call.ts'
import { wholeBody } from '../../plugins/reply-bytes.ts'
import { decoded } from '../decode.ts'
import { answerFromBytes, type RawAnswer } from '../folding/diff/answer.ts'
import type { LegacyAgreement } from '../folding/diff/legacy-agreement.ts'
import { strataFromCall } from '../folding/diff/strata.ts'
import { createStreamMemory, createStreamTee, type StreamTee } from '../folding/diff/stream-memory.ts'
import { type Line, openLine } from '../line.ts'
import type { Files, RunnerSettings } from '../runner-settings.ts'
import { type ObservedCall, type Observers, observeCall } from './observed-call.ts'

/** The chain that a team has had so far and that still serves, with our layers beside it. */
export interface Legacy {
  readonly line: Line
  /** Sent in place of the caller's own credential. */
  readonly apiKey: string | undefined
  readonly patience: { readonly firstByteMs: number; readonly idleMs: number }
  readonly maxBodyBytes: number
  /** Our layers observe a call from now on; undefined when too many are observed, which is counted. */
  observe(call: Call): Observation | undefined
  close(): Promise<void>
}

/** One call that is observed while the chain serves it. */
export interface Observation {
  /** Keeps the answer as it goes by. */
  readonly tee: StreamTee
  /** It is over; undefined: it broke off, or never came. Once. Resolves when our layers have had their say. */
  over(answer: Omit<RawAnswer, 'body'> | undefined): Promise<void>
}

/** What {@link Legacy} is opened with. */
export interface LegacyParts extends Observers, Pick<Files, 'file' | 'secretFile'> {
  readonly agreement: LegacyAgreement
  dropped(): void
}

const mostObserved = 256
const maxBodyBytes = 64 * 1024 * 1024

/** Opens the way to the chain. Throws `config_invalid` for a file that is not there. */
export function openLegacy(config: LegacyConfig, parts: LegacyParts): Legacy {
  const line = openLine(settingsOf(config, parts))
  const memory = createStreamMemory()
  let open = 0
  return {
    line,
    apiKey: config.apiKeyFile === null ? undefined : parts.secretFile(config.apiKeyFile).toString('utf8'),
    patience: { firstByteMs: config.firstByteTimeoutMs, idleMs: config.idleTimeoutMs },
    maxBodyBytes,
    observe(call) {
      if (open >= mostObserved) {
        parts.dropped()
        return undefined
      }
      open++
      const observed = soon(() => observeCall(call, parts))
      const tee = createStreamTee(memory)
      return {
        tee,
        async over(answer) {
          try {
            const kept = tee.take()
            const ours = await observed
            if (answer) await agree(parts.agreement, ours, { ...answer, body: kept && (await plain(kept, answer)) })
            ours.release()
          } finally {
            open--
          }
        },
      }
    },
    close: () => line.pool.destroy(),
  }
}

/** Without its content coding; undefined where that cannot be taken off. */
async function plain(kept: Buffer, { headers }: Omit<RawAnswer, 'body'>): Promise<Buffer | undefined> {
  const coding = headers['content-encoding']
  if (typeof coding !== 'string') return kept
  return wholeBody(decoded(parts(kept), coding)).catch(() => undefined)
}

async function* parts(body: Buffer): AsyncGenerator<Buffer> {
  yield body
}

/** The call itself goes first. */
function soon<T>(work: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => setImmediate(() => work().then(resolve, reject)))
}

/** What was too large to be kept is held to its status alone. */
async function agree(
  agreement: LegacyAgreement,
  ours: ObservedCall,
  { body, ...head }: Omit<RawAnswer, 'body'> & { readonly body: Buffer | undefined },
): Promise<void> {
  const { call, verdicts } = ours
  const made = body && (await ours.settle({ ...head, body }))
  // Which prompt tokens there would have been only a model of ours could say, and none is asked.
  const { prompt, ...said } = verdicts
  agreement.add({
    legacy: body ? answerFromBytes({ ...head, body }) : { ...head, body: null },
    ...(made ? { ours: made } : {}),
    verdicts: prompt?.kind === 'refuse' ? verdicts : said,
    call: call.id,
    tier: call.facts.principal?.tier ?? '',
    strata: strataFromCall(call, { cacheHit: false }),
    at: call.now,
    options: { headers: false },
  })
}

function settingsOf({ url, headers, caFile, ...times }: LegacyConfig, { file }: Pick<Files, 'file'>): RunnerSettings {
  return {
    ...times,
    name: 'legacy',
    kind: 'openai',
    url,
    headers,
    keepAliveMs: 4_000,
    maxConnections: 0,
    maxEventBytes: maxBodyBytes,
    maxBodyBytes,
    maxAttempts: 1,
    retryBudgetRatio: 0,
    ejectAfter: 1,
    ejectMs: 1,
    includeUsage: 'never',
    ...(caFile === null ? {} : { tls: { ca: file(caFile) } }),
  }
}
