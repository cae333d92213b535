import { describe, expect, it } from 'vitest'
import { noticeKinds } from '../../../config/outside.ts'
import { alertmanagerShape } from './alertmanager.ts'
import { type Notice, sayNotice } from './notice.ts'
import { pagerdutyShape } from './pagerduty.ts'
import type { Shape, ShapeContext } from './shape.ts'
import { isSignedBy, signatureOf, signedJsonShape } from './signed-json.ts'
import { slackShape } from './slack.ts'

const notice: Notice = {
  ...{ kind: 'rolled-back', at: 1_790_000_000_000, layer: 'routing', from: 'canary 10 %', to: 'rolled-back' },
  ...{ actor: 'controller', reason: 'fuse F3', evidence: '3 of 3 calls were bad, 0 of 27 in the control' },
}
const context: ShapeContext = {
  ...{ service: 'foldgate', id: 'msg_1', nowSeconds: 1_790_000_001, runbook: 'https://run.book/f#rolled-back' },
  secret: Buffer.from('a secret of thirty-two bytes or so'),
}
const bodyOf = (shape: Shape, given: Partial<Notice> = {}, around: Partial<ShapeContext> = {}) =>
  JSON.parse(shape({ ...notice, ...given }, { ...context, ...around })?.body ?? 'null')

describe('a notice in words', () => {
  it('says what happened, the layer, from and to, who and why, and what to do', () => {
    expect(sayNotice(notice)).toEqual({
      severity: 'warning',
      title: 'routing was rolled back',
      text: 'routing: canary 10 % → rolled-back. By controller: fuse F3',
      todo: 'The gateway does this work again and calls are answered. Read "foldgate explain routing" before it moves again.',
    })
  })

  it('has words for every kind', () => {
    for (const kind of noticeKinds) {
      const { title, text, todo } = sayNotice({ ...notice, kind })
      expect([title, text, todo].every((each) => each.length > 10)).toBe(true)
    }
  })
})

describe('slack', () => {
  it('has a line, a heading and a section with the runbook', () => {
    expect(bodyOf(slackShape)).toEqual({
      text: ':warning: routing was rolled back (foldgate)',
      blocks: [
        { type: 'header', text: { type: 'plain_text', text: 'routing was rolled back (foldgate)' } },
        {
          type: 'section',
          text: {
            type: 'mrkdwn',
            text: [
              '*routing: canary 10 % → rolled-back. By controller: fuse F3*',
              'Evidence: 3 of 3 calls were bad, 0 of 27 in the control',
              'The gateway does this work again and calls are answered. Read "foldgate explain routing" before it moves again.',
              '<https://run.book/f#rolled-back|Runbook>',
            ].join('\n'),
          },
        },
      ],
    })
  })

  it('calls nobody for what an operator typed', () => {
    const text = JSON.stringify(bodyOf(slackShape, { reason: '<!channel> & <@U1>' }))
    expect(text).toContain('&lt;!channel&gt; &amp; &lt;@U1&gt;')
    expect(text).not.toContain('<!channel>')
  })
})

describe('pagerduty', () => {
  it('opens one alert a layer', () => {
    const body = bodyOf(pagerdutyShape)
    expect(body).toMatchObject({
      routing_key: 'a secret of thirty-two bytes or so',
      event_action: 'trigger',
      dedup_key: 'foldgate/foldgate/routing',
      payload: {
        summary: 'routing was rolled back. 3 of 3 calls were bad, 0 of 27 in the control',
        source: 'foldgate',
        severity: 'warning',
        timestamp: '2026-09-21T14:13:20.000Z',
        component: 'routing',
        class: 'rolled-back',
      },
      links: [{ href: 'https://run.book/f#rolled-back', text: 'Runbook' }],
    })
    expect(body.payload.custom_details).toMatchObject({ from: 'canary 10 %', to: 'rolled-back', reason: 'fuse F3' })
  })

  it('closes it when the layer moves again', () => {
    expect(bodyOf(pagerdutyShape, { kind: 'moved', to: 'shadow' })).toEqual({
      routing_key: 'a secret of thirty-two bytes or so',
      event_action: 'resolve',
      dedup_key: 'foldgate/foldgate/routing',
    })
  })

  it('keeps to the longest summary that is taken', () => {
    expect(bodyOf(pagerdutyShape, { evidence: 'x'.repeat(5_000) }).payload.summary).toHaveLength(1_024)
  })
})

describe('alertmanager', () => {
  it('has an alert that burns for hours, with its runbook', () => {
    expect(bodyOf(alertmanagerShape)).toEqual([
      {
        labels: {
          ...{ alertname: 'FoldgateLayerRolledBack', severity: 'warning', layer: 'routing' },
          ...{ service: 'foldgate', source: 'foldgate' },
        },
        annotations: {
          summary: 'routing was rolled back',
          description: [
            'routing: canary 10 % → rolled-back. By controller: fuse F3',
            '3 of 3 calls were bad, 0 of 27 in the control',
            'The gateway does this work again and calls are answered. Read "foldgate explain routing" before it moves again.',
          ].join('\n'),
          runbook_url: 'https://run.book/f#rolled-back',
        },
        startsAt: '2026-09-21T14:13:20.000Z',
        endsAt: '2026-09-21T18:13:20.000Z',
      },
    ])
  })

  it('ends every alert of a layer that moves, under the labels that it began with', () => {
    const ended = bodyOf(alertmanagerShape, { kind: 'moved', to: 'shadow' })
    for (const kind of noticeKinds.filter((each) => each !== 'moved')) {
      const [begun] = bodyOf(alertmanagerShape, { kind })
      const match = ended.find((each: typeof begun) => each.labels.alertname === begun.labels.alertname)
      expect(match.labels).toEqual(begun.labels)
      expect(match.endsAt).toBe('2026-09-21T14:13:20.000Z')
    }
    expect(ended).toHaveLength(noticeKinds.length - 1)
  })

  it('bears a token where there is one', () => {
    expect(alertmanagerShape(notice, context)?.headers).toMatchObject({ authorization: /^Bearer a secret/ })
    expect(alertmanagerShape(notice, { ...context, secret: Buffer.alloc(0) })?.headers).not.toHaveProperty(
      'authorization',
    )
  })
})

describe('json', () => {
  it('has the fields that are documented', () => {
    expect(bodyOf(signedJsonShape, {}, { runbook: null })).toEqual({
      ...{ version: 1, id: 'msg_1', kind: 'rolled-back', severity: 'warning', at: '2026-09-21T14:13:20.000Z' },
      ...{ service: 'foldgate', layer: 'routing', from: 'canary 10 %', to: 'rolled-back', actor: 'controller' },
      ...{ reason: 'fuse F3', evidence: '3 of 3 calls were bad, 0 of 27 in the control' },
      summary: 'routing was rolled back',
      what_to_do: sayNotice(notice).todo,
      runbook_url: null,
    })
  })

  it('is signed over id, time and body', () => {
    const message = signedJsonShape(notice, context)
    const {
      'webhook-id': id = '',
      'webhook-timestamp': time,
      'webhook-signature': signature = '',
    } = message?.headers ?? {}
    const signed = { id, timestamp: Number(time), body: message?.body ?? '' }
    expect(isSignedBy(`v1,${'A'.repeat(44)} ${signature}`, signed, context.secret)).toBe(true)
    expect(isSignedBy(signature, { ...signed, body: `${signed.body} ` }, context.secret)).toBe(false)
    expect(isSignedBy(signature, { ...signed, timestamp: signed.timestamp + 1 }, context.secret)).toBe(false)
    expect(isSignedBy(signature, signed, Buffer.from('another'))).toBe(false)
  })

  it('takes the secrets of Standard Webhooks, and signs as its libraries do', () => {
    const signed = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestamp: 1_614_265_330, body: '{"test": 2432232314}' }
    const secret = Buffer.from('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')
    expect(signatureOf(signed, secret)).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
  })
})
