import { createHmac, timingSafeEqual } from 'node:crypto'
import { sayNotice } from './notice.ts'
import { jsonMessage, type Shape } from './shape.ts'

/**
 * Our own form. The body: `{version: 1, id, kind, severity, at, service, layer, from, to, actor, reason, evidence, summary,
 * what_to_do, runbook_url}`, with `at` in RFC 3339 and `runbook_url` null where there is none; members may be added. Signed as the
 * Standard Webhooks specification has it: `webhook-id` (the same for every try, so that a receiver can drop doubles),
 * `webhook-timestamp` (seconds) and `webhook-signature: v1,` with the base64 of the HMAC-SHA-256 over `id.timestamp.body`.
 */
export const signedJsonShape: Shape = (notice, { service, id, nowSeconds, runbook, secret }) => {
  const said = sayNotice(notice)
  const { kind, layer, from, to, actor, reason, evidence } = notice
  const message = jsonMessage({
    version: 1,
    id,
    kind,
    severity: said.severity,
    at: new Date(notice.at).toISOString(),
    service,
    ...{ layer, from, to, actor, reason, evidence },
    summary: said.title,
    what_to_do: said.todo,
    runbook_url: runbook,
  })
  const signature = signatureOf({ id, timestamp: nowSeconds, body: message.body }, secret)
  const signed = { 'webhook-id': id, 'webhook-timestamp': String(nowSeconds), 'webhook-signature': signature }
  return { ...message, headers: { ...message.headers, ...signed } }
}

/** What is signed. */
export interface Signed {
  readonly id: string
  /** Seconds since the epoch. */
  readonly timestamp: number
  readonly body: string
}

/** The `webhook-signature` of a message. A secret that begins with `whsec_` is base64 behind it; any other is the key itself. */
export function signatureOf({ id, timestamp, body }: Signed, secret: Buffer): string {
  const text = secret.toString('latin1')
  const key = text.startsWith('whsec_') ? Buffer.from(text.slice(6), 'base64') : secret
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
}

/** Whether one of the signatures in a `webhook-signature` header is right, for receivers and for tests; compared in constant time. */
export function isSignedBy(header: string, signed: Signed, secret: Buffer): boolean {
  const right = Buffer.from(signatureOf(signed, secret))
  return header.split(' ').some((each) => each.length === right.length && timingSafeEqual(Buffer.from(each), right))
}
