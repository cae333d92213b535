import { sayNotice } from './notice.ts'
import { cut, jsonMessage, type Shape } from './shape.ts'

/** Where PagerDuty takes events. */
export const pagerdutyUrl = 'https://events.pagerduty.com/v2/enqueue'

/**
 * PagerDuty Events API v2: a layer has one alert, by `dedup_key`; whatever is wrong with it triggers that alert, and its next
 * move forward resolves it. Resolving what is not open does nothing.
 */
export const pagerdutyShape: Shape = (notice, { service, runbook, secret }) => {
  const key = { routing_key: secret.toString('utf8'), dedup_key: cut(`foldgate/${service}/${notice.layer}`, 255) }
  if (notice.kind === 'moved') return jsonMessage({ ...key, event_action: 'resolve' })
  const said = sayNotice(notice)
  return jsonMessage({
    ...key,
    event_action: 'trigger',
    client: 'Foldgate',
    payload: {
      summary: cut(`${said.title}. ${notice.evidence || notice.reason}`, 1_024),
      source: service,
      severity: said.severity,
      timestamp: new Date(notice.at).toISOString(),
      component: notice.layer,
      group: service,
      class: notice.kind,
      custom_details: {
        from: notice.from,
        to: notice.to,
        actor: notice.actor,
        reason: notice.reason,
        evidence: notice.evidence,
        what_to_do: said.todo,
      },
    },
    ...(runbook === null ? {} : { links: [{ href: runbook, text: 'Runbook' }] }),
  })
}
