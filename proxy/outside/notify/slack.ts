import { sayNotice } from './notice.ts'
import { cut, jsonMessage, type Shape } from './shape.ts'

const icons = { info: ':information_source:', warning: ':warning:', critical: ':rotating_light:' } as const

/** An incoming webhook of Slack (docs.slack.dev, "Sending messages using incoming webhooks"): a line of text, and blocks. */
export const slackShape: Shape = (notice, { service, runbook }) => {
  const said = sayNotice(notice)
  const lines = [
    `*${escaped(said.text)}*`,
    ...(notice.evidence === '' ? [] : [`Evidence: ${escaped(notice.evidence)}`]),
    escaped(said.todo),
    ...(runbook === null ? [] : [`<${encodeURI(runbook)}|Runbook>`]),
  ]
  const title = `${said.title} (${service})`
  return jsonMessage({
    text: cut(`${icons[said.severity]} ${escaped(title)}`, 3_000),
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: cut(title, 150) } },
      { type: 'section', text: { type: 'mrkdwn', text: cut(lines.join('\n'), 3_000) } },
    ],
  })
}

/** The three characters that Slack reads as markup of its own, such as mentions of everybody. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
