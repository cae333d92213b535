import { randomUUID } from 'node:crypto'
import type { NotifyConfig } from '../../../config/outside.ts'
import type { Clock, Http, HttpAnswer, Log } from '../../../plugins/host.ts'
import { alertmanagerShape } from './alertmanager.ts'
import type { Notice } from './notice.ts'
import { createOutbox, type Outbox, type OutboxParts, type Try } from './outbox.ts'
import { pagerdutyShape, pagerdutyUrl } from './pagerduty.ts'
import type { Shape } from './shape.ts'
import { signedJsonShape } from './signed-json.ts'
import { slackShape } from './slack.ts'

/** What notices are sent with. */
export interface NotifierParts {
  readonly targets: readonly NotifyConfig[]
  readonly http: Http
  readonly clock: Clock
  readonly log: Log
  readonly service: string
  /** A secret from a file that the configuration names, one trailing newline trimmed; read for every try. Throws `config_invalid`. */
  secret(path: string): Buffer
  /** For tests: see {@link OutboxParts}. */
  readonly wait?: OutboxParts<unknown>['wait']
  readonly random?: OutboxParts<unknown>['random']
}

/** Tells people, beside the calls and never on their way. */
export interface Notifier {
  /** Never waits and never throws. */
  tell(notice: Notice): void
  /** Notices that did not arrive, since the start, by target. */
  readonly lost: Readonly<Record<string, number>>
  /** Resolves when nothing is under way. */
  settled(): Promise<void>
  /** Gives up what is left. */
  close(): void
}

const shapes: Readonly<Record<NotifyConfig['shape'], Shape>> = {
  slack: slackShape,
  pagerduty: pagerdutyShape,
  alertmanager: alertmanagerShape,
  json: signedJsonShape,
}

/** How many notices wait for one target. */
const room = 100

interface Letter {
  readonly id: string
  readonly notice: Notice
}

/** Makes a {@link Notifier}: every target has an outbox of its own, so that one that hangs holds up no other. */
export function createNotifier(parts: NotifierParts): Notifier {
  const lost: Record<string, number> = {}
  const outboxes = parts.targets.map((target): readonly [NotifyConfig, Outbox<Letter>] => [
    target,
    createOutbox<Letter>({
      room,
      ...(parts.wait ? { wait: parts.wait } : {}),
      ...(parts.random ? { random: parts.random } : {}),
      send: (letter, signal) => send(letter, target, { ...parts, signal }),
      lost({ notice: { kind, layer } }, words) {
        lost[target.name] = (lost[target.name] ?? 0) + 1
        parts.log.warn({ target: target.name, kind, layer }, `a notice did not arrive: ${words}`)
      },
    }),
  ])
  return {
    tell(notice) {
      const letter = { id: `msg_${randomUUID()}`, notice }
      for (const [{ on }, outbox] of outboxes) if (on.includes(notice.kind)) outbox.put(letter)
    },
    lost,
    settled: async () => {
      await Promise.all(outboxes.map(([, outbox]) => outbox.settled()))
    },
    close() {
      for (const [, outbox] of outboxes) outbox.close()
    },
  }
}

async function send(
  { id, notice }: Letter,
  target: NotifyConfig,
  { http, clock, secret, service, signal }: NotifierParts & { readonly signal: AbortSignal },
): Promise<Try> {
  const message = shapes[target.shape](notice, {
    service,
    id,
    nowSeconds: Math.floor(clock.now() / 1000),
    runbook: target.runbookUrl === null ? null : `${target.runbookUrl}#${notice.kind}`,
    secret: target.secretFile === null ? Buffer.alloc(0) : secret(target.secretFile),
  })
  if (message === undefined) return { done: true }
  const url = target.url ?? (target.urlFile === null ? pagerdutyUrl : secret(target.urlFile).toString('utf8').trim())
  const answer = await http.send(url, {
    method: 'POST',
    ...message,
    timeoutMs: target.timeoutMs,
    maxBytes: 65_536,
    signal,
  })
  return triedFrom(answer, clock.now())
}

/** What a status means: 2xx arrived; 408, 425, 429 and 5xx may go better later; anything else will not. */
function triedFrom({ status, headers }: HttpAnswer, now: number): Try {
  if (status >= 200 && status < 300) return { done: true }
  const again = status >= 500 || [408, 425, 429].includes(status)
  const afterMs = waitFrom(headers['retry-after'], now)
  return { done: false, again, words: `it answered ${status}`, ...(afterMs === undefined ? {} : { afterMs }) }
}

/** `Retry-After` (RFC 9110 §10.2.3), in milliseconds from now. */
function waitFrom(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now
  return Number.isFinite(ms) && ms > 0 ? ms : undefined
}
