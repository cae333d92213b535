import { describe, expect, it } from 'vitest'
import { type NotifyConfig, noticeKinds } from '../../../config/outside.ts'
import { createTestHost } from '../../../test/support/host.ts'
import { failOnLeaks } from '../../../test/support/leaks.ts'
import { json, reply } from '../../../test/support/reply.ts'
import { type Script, startUpstream } from '../../../test/support/upstream.ts'
import { createHttp } from '../../host.ts'
import type { Notice } from './notice.ts'
import { createNotifier, type Notifier } from './notifier.ts'
import { isSignedBy } from './signed-json.ts'

failOnLeaks()

const notice: Notice = {
  ...{ kind: 'rolled-back', at: 1_790_000_000_000, layer: 'cache', from: 'native', to: 'rolled-back' },
  ...{ actor: 'ana', reason: 'slow', evidence: '' },
}
const secrets: Record<string, string> = { key: 'the signing key', routing: 'R0UT1NG' }

const targetOf = (given: Partial<NotifyConfig>): NotifyConfig => ({
  ...{ name: 'hook', shape: 'json', url: null, urlFile: null, secretFile: 'key' },
  ...{ on: noticeKinds, runbookUrl: null, timeoutMs: 2_000 },
  ...given,
})

/** A receiver that answers by a script, and a notifier that has told it of `notices`. */
async function telling(script: Script, given: Partial<NotifyConfig> = {}, notices: readonly Notice[] = [notice]) {
  await using receiver = await startUpstream(script)
  const host = createTestHost()
  const http = createHttp()
  const url = given.urlFile === undefined ? { url: `${receiver.url}/hook` } : {}
  const notifier = createNotifier({
    targets: [targetOf({ ...url, ...given })],
    ...{ http, clock: host.clock, log: host.log, service: 'foldgate', wait: async () => undefined },
    secret: (path) => Buffer.from(path === 'url' ? `${receiver.url}/from/file\n` : (secrets[path] ?? '')),
  })
  for (const each of notices) notifier.tell(each)
  await notifier.settled()
  await http.close()
  return { requests: [...receiver.requests], notifier, host }
}

const ok = reply(204).length()

describe('a notifier', () => {
  it('posts a signed message', async () => {
    const { requests, notifier } = await telling(ok)
    const [request] = requests
    expect([request?.method, request?.path, request?.headers['content-type']]).toEqual([
      'POST',
      '/hook',
      'application/json',
    ])
    const signed = {
      id: request?.headers['webhook-id'] ?? '',
      timestamp: Number(request?.headers['webhook-timestamp']),
      body: request?.body.toString() ?? '',
    }
    expect(isSignedBy(request?.headers['webhook-signature'] ?? '', signed, Buffer.from('the signing key'))).toBe(true)
    expect(signed.timestamp).toBe(1_700_000_000)
    expect(notifier.lost).toEqual({})
  })

  it('tries again with the same id until it arrives', async () => {
    const { requests, notifier } = await telling([reply(503).length(), reply(429, { 'Retry-After': '2' }).length(), ok])
    expect(requests).toHaveLength(3)
    expect(new Set(requests.map((each) => each.headers['webhook-id'])).size).toBe(1)
    expect(notifier.lost).toEqual({})
  })

  it('gives up at once what is refused, and says so without the address', async () => {
    const { requests, notifier, host } = await telling(json({}, 403), {
      shape: 'slack',
      secretFile: null,
      urlFile: 'url',
    })
    expect(requests.map(({ path }) => path)).toEqual(['/from/file'])
    expect(notifier.lost).toEqual({ hook: 1 })
    expect(host.lines).toMatchObject([{ level: 'warn', message: 'a notice did not arrive: it answered 403' }])
    expect(JSON.stringify(host.lines)).not.toContain('127.0.0.1')
  })

  it('tells a target only of what it asked for', async () => {
    const others = noticeKinds.map((kind) => ({ ...notice, kind }))
    const { requests } = await telling(ok, { on: ['panic', 'held'] }, others)
    expect(requests.map(({ body }) => JSON.parse(body.toString()).kind)).toEqual(['held', 'panic'])
  })

  it('sends a link that leads to the kind', async () => {
    const { requests } = await telling(ok, { runbookUrl: 'https://run.book/foldgate' })
    expect(JSON.parse(requests[0]!.body.toString()).runbook_url).toBe('https://run.book/foldgate#rolled-back')
  })

  it('sends to PagerDuty itself when no address is given', async () => {
    const host = createTestHost()
    host.answers.set('https://events.pagerduty.com/v2/enqueue', () => ({ status: 202 }))
    const targets = [targetOf({ shape: 'pagerduty', secretFile: 'routing' })]
    const secret = (path: string) => Buffer.from(secrets[path] ?? '')
    const notifier = createNotifier({
      targets,
      http: host.http,
      clock: host.clock,
      log: host.log,
      service: 's',
      secret,
    })
    notifier.tell(notice)
    await notifier.settled()
    expect(JSON.parse(host.sent[0]?.request.body ?? '')).toMatchObject({
      routing_key: 'R0UT1NG',
      event_action: 'trigger',
    })
  })

  it('does not wait, and one target that hangs holds up no other', async () => {
    const host = createTestHost()
    host.answers.set('http://slow/', () => new Promise(() => undefined))
    const arrived = Promise.withResolvers<void>()
    host.answers.set('http://quick/', () => {
      arrived.resolve()
      return { status: 200 }
    })
    const targets = [targetOf({ name: 'slow', url: 'http://slow/' }), targetOf({ name: 'quick', url: 'http://quick/' })]
    const secret = () => Buffer.from('k')
    const parts = { targets, http: host.http, clock: host.clock, log: host.log, service: 's', secret }
    const notifier: Notifier = createNotifier(parts)
    for (let each = 0; each < 150; each++) notifier.tell(notice)
    await arrived.promise
    notifier.close()
    expect(notifier.lost).toMatchObject({ slow: 149 })
  })

  it('loses a notice, and not its life, when a secret is gone', async () => {
    const host = createTestHost()
    const secret = (): Buffer => host.file('absent')
    const targets = [targetOf({ url: 'http://h/' })]
    const wait = async () => undefined
    const notifier = createNotifier({
      targets,
      http: host.http,
      clock: host.clock,
      log: host.log,
      service: 's',
      secret,
      wait,
    })
    notifier.tell(notice)
    await notifier.settled()
    expect([notifier.lost, host.sent]).toEqual([{ hook: 1 }, []])
    expect(host.lines[0]?.message).toMatch(/file absent cannot be read, 6 times/)
  })
})
