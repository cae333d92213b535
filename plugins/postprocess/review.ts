import type { Call } from '../call.ts'
import type { Host } from '../host.ts'
import type { ReviewRules } from './rules.ts'

/** An answer that people should look at. */
export interface Reviewed {
  readonly score: number
  readonly text: string
}

/**
 * Tells the reviewers about an answer whose score is under the threshold: by webhook, on a stream of the store, or both. Nothing waits for
 * it, and its failure is only counted and logged.
 */
export function sendToReview(rules: ReviewRules, call: Call, reviewed: Reviewed, host: Host): void {
  if (reviewed.score >= rules.below) return
  const entry = {
    id: call.id,
    tenant: call.facts.principal?.tenant ?? '',
    route: call.route,
    model: call.request.model,
    score: reviewed.score,
    at: new Date(call.now).toISOString(),
    ...(rules.includeText ? { text: reviewed.text } : {}),
  }
  if (rules.webhook !== null) count(host, 'webhook', postEntry(rules, rules.webhook, entry, host))
  if (rules.stream !== null) {
    const fields = Object.fromEntries(Object.entries(entry).map(([name, value]) => [name, String(value)]))
    count(host, 'stream', host.store.append(rules.stream, fields, rules.maxEntries))
  }
}

async function postEntry(rules: ReviewRules, url: string, entry: object, host: Host): Promise<void> {
  const { status } = await host.http.send(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...rules.headers },
    body: JSON.stringify(entry),
    timeoutMs: rules.timeoutMs,
    signal: host.closed,
  })
  if (status >= 300) host.log.warn({ status }, 'the review webhook did not take an answer')
  host.count(status >= 300 ? 'postprocess.review-failed' : 'postprocess.review-sent')
}

function count(host: Host, way: 'webhook' | 'stream', sent: Promise<void>): void {
  sent.then(
    () => {
      if (way === 'stream') host.count('postprocess.review-sent')
    },
    (error: unknown) => {
      host.count('postprocess.review-failed')
      host.log.warn(
        { way, error: error instanceof Error ? error.message : String(error) },
        'an answer was not sent to review',
      )
    },
  )
}
