import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Finding } from '../../proxy/cli/finding.ts'
import { foldgate, nobody } from '../../proxy/cli/test-command.ts'
import { failOnLeaks } from '../support/leaks.ts'
import { createTempDir, type TempDir } from '../support/temp-dir.ts'
import { type EdgeHabits, startEdge } from './edge.ts'
import { allNative, type FoldingRig, startFoldingRig } from './folding-rig.ts'
import { nginxAvailable, startNginxEdge } from './nginx-edge.ts'

failOnLeaks()

let rig: FoldingRig
let dir: TempDir
beforeAll(async () => {
  dir = createTempDir()
  rig = await startFoldingRig({ stages: allNative, echo: { delayMs: 30 } })
  writeFileSync(dir.file('key'), `${rig.keys[0]}\n`)
})
afterAll(async () => {
  await rig[Symbol.asyncDispose]()
  await dir[Symbol.asyncDispose]()
})

/** What doctor says of a way to the rig's gateway. */
async function examine(vias: readonly string[], direct = rig.gateway.url) {
  const ways = vias.flatMap((url) => ['--via', url])
  const args = ['doctor', ...ways, '--direct', direct, '--api-key-file', dir.file('key'), '-o', 'json']
  const { code, out, err } = await foldgate(args)
  const findings = JSON.parse(out || `[${JSON.stringify(err)}]`) as Finding[]
  return { code, findings, lost: findings.filter(({ result }) => result === 'failed') }
}

describe('an edge that passes everything on', () => {
  it('is found to lose nothing, and doctor ends with 0', async () => {
    await using edge = await startEdge(rig.gateway.url)
    const { code, findings } = await examine([edge.url])
    expect(findings.map(({ check, result }) => [check, result])).toEqual([[`edge ${edge.url}`, 'ok']])
    expect(findings[0]?.note).toMatch(/^passes everything on: .*x-layer-status/)
    expect(findings[0]?.note).toMatch(/no answer had .*retry-after/)
    expect(code).toBe(0)
  })
})

const cases: readonly (readonly [title: string, habits: EdgeHabits, note: RegExp, next: RegExp])[] = [
  [
    'takes a header of ours out of answers',
    { dropsOut: ['x-layer-status'] },
    /response header x-layer-status does not reach clients/,
    /removes x-layer-status from responses/,
  ],
  [
    'takes rate-limit headers out of answers',
    { dropsOut: ['x-ratelimit-remaining-tokens'] },
    /response header x-ratelimit-remaining-tokens/,
    /removes/,
  ],
  [
    'takes a header out of requests',
    { dropsIn: ['x-conversation-id'] },
    /request header x-conversation-id does not reach the gateway/,
    /removes x-conversation-id from requests/,
  ],
  ['takes the trace out of requests', { dropsIn: ['traceparent'] }, /request header traceparent/, /removes/],
  [
    'takes out what it does not know',
    { dropsIn: ['x-foldgate-check'] },
    /x-foldgate-check does not reach the gateway: other headers of ours/,
    /allow-list/,
  ],
  [
    'writes a request id of its own',
    { writesIn: { 'x-request-id': 'edge-1' } },
    /another x-request-id than they sent|puts its own x-request-id/,
    /keep the client’s/,
  ],
  [
    'begins a trace of its own',
    { writesIn: { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` } },
    /request header traceparent reaches the gateway with another value/,
    /writes traceparent/,
  ],
  ['holds streams back', { buffers: true }, /streams are held back: directly/, /buffering off/],
  [
    'lets streams be stored',
    { writesOut: { 'cache-control': 'max-age=60' } },
    /cache-control of streams loses no-store and no-transform/,
    /cache-control/,
  ],
  [
    'renames streams',
    { writesOut: { 'content-type': 'text/plain' } },
    /comes as text\/plain|replaced: text\/plain/,
    /as/,
  ],
  ['has error pages of its own', { ownErrors: true }, /body of an error is replaced: text\/html/, /errors/],
  ['drops trailers', { dropsTrailers: true }, /trailer x-layer-status of streams does not reach/, /trailers on/],
  ['answers by itself', { forbids: 403 }, /is answered 403, not by the gateway/, /firewall/],
]

describe('an edge that', () => {
  it.each(cases)('%s is found out, with what to do, and doctor ends with 1', async (_title, habits, note, next) => {
    await using edge = await startEdge(rig.gateway.url, habits)
    const { code, lost } = await examine([edge.url])
    expect(code).toBe(1)
    const found = lost.filter((each) => note.test(each.note))
    expect(found, JSON.stringify(lost)).not.toEqual([])
    expect(found[0]).toMatchObject({ check: `edge ${edge.url}`, next: expect.stringMatching(next) })
  })

  it('is not there is said so', async () => {
    const { code, lost } = await examine([nobody])
    expect([code, lost[0]?.note]).toEqual([1, expect.stringContaining('nothing listens there')])
  })
})

describe('several edges', () => {
  it('the first hop on the way out that drops a header is named, and those behind it are not', async () => {
    await using inner = await startEdge(rig.gateway.url, { dropsOut: ['x-execution-time'] })
    await using outer = await startEdge(inner.url, { dropsIn: ['traceparent'] })
    const { lost } = await examine([outer.url, inner.url])
    expect(lost.map(({ check, note }) => `${check} ${note}`)).toEqual([
      expect.stringContaining(`edge ${outer.url} the request header traceparent`),
      expect.stringContaining(`edge ${inner.url} the response header x-execution-time`),
    ])
  })
})

describe('what cannot be compared', () => {
  it('--direct that is no gateway is said so', async () => {
    const { code, lost } = await examine([rig.gateway.url], rig.runner.url)
    expect([code, lost[0]?.note]).toEqual([1, 'says no layer-status'])
  })

  it('half a question is wrong usage', async () => {
    const { code, err } = await foldgate(['doctor', '--via', nobody])
    expect([code, err]).toEqual([2, expect.stringContaining('--via and --direct are given together')])
  })

  it('without a key the chats are not compared, and why is said', async () => {
    await using edge = await startEdge(rig.gateway.url)
    const { out, code } = await foldgate(['doctor', '--via', edge.url, '--direct', rig.gateway.url, '--model', 'echo'])
    expect(out).toMatch(/answers a chat with 401, also directly\n {2}→ pass a key with --api-key-file/)
    expect(code).toBe(0)
  })
})

describe.skipIf(!nginxAvailable)('nginx', () => {
  it('as it comes passes our headers and streams on', async () => {
    await using edge = await startNginxEdge(rig.gateway.url, ['proxy_http_version 1.1;'])
    const { findings } = await examine([edge.url])
    expect(findings.map(({ note }) => note).join('\n')).not.toMatch(/held back|response header|request header/)
  })

  it.each([
    [
      'that compresses streams',
      ['proxy_http_version 1.1;', 'gzip on;', 'gzip_proxied any;', 'gzip_types text/event-stream;'],
      /the stream is compressed \(gzip\)/,
      /^nginx: say gzip off/,
    ],
    [
      'that hides a header',
      ['proxy_hide_header X-Layer-Status;'],
      /response header x-layer-status/,
      /^nginx: take out proxy_hide_header x-layer-status/,
    ],
    [
      'that clears a request header',
      ['proxy_set_header X-Conversation-Id "";'],
      /request header x-conversation-id/,
      /^nginx: take out proxy_set_header x-conversation-id/,
    ],
    [
      'that makes request ids',
      ['proxy_set_header X-Request-Id $request_id;'],
      /x-request-id/,
      /^nginx: say proxy_set_header X-Request-Id \$http_x_request_id/,
    ],
    [
      'that has error pages of its own',
      ['proxy_intercept_errors on;', 'error_page 405 /own-error;'],
      /a refused request is answered|body of an error is replaced/,
      /^nginx: say proxy_intercept_errors off/,
    ],
  ])('%s is found out, with the line to change', async (_title, lines, note, next) => {
    await using edge = await startNginxEdge(rig.gateway.url, lines)
    const { code, lost } = await examine([edge.url])
    const found = lost.filter((each) => note.test(each.note))
    expect([code, found[0]?.next], JSON.stringify(lost)).toEqual([1, expect.stringMatching(next)])
  })
})
