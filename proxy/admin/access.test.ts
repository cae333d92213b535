import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { GatewayError } from '../../plugins/errors.ts'
import { type AccessRules, type Asked, admit } from './access.ts'

const digest = (token: string) => createHash('sha256').update(token).digest()
const tokens = [
  { name: 'oncall', role: 'operator' as const, digest: digest('op-token') },
  { name: 'screen', role: 'viewer' as const, digest: digest('view-token') },
]
const away: AccessRules = { tokens, allowedHosts: ['admin.example', 'gate.example:9901'], loopback: false }
const near: AccessRules = { ...away, loopback: true }

const json = { 'content-type': 'application/json' }
const operator = { authorization: 'Bearer op-token' }
const basic = (pair: string) => ({ authorization: `Basic ${Buffer.from(pair).toString('base64')}` })
const viewer = { authorization: 'Bearer view-token' }

function outcome(rules: AccessRules, line: string, headers: Record<string, string> = {}): string {
  const [method = '', path = ''] = line.split(' ')
  const asked: Asked = {
    method,
    path,
    headers: { host: '10.1.2.3:9901', ...headers },
    hostCount: 1,
    localAddress: '10.1.2.3',
  }
  try {
    const { name, role, verified } = admit(asked, rules)
    return `${name} ${role} ${verified ? 'verified' : 'claimed'}`
  } catch (reason) {
    if (reason instanceof GatewayError) return reason.code
    throw reason
  }
}

test.each([
  'GET /healthz/live',
  'GET /healthz/ready',
  'GET /healthz/startup',
  'GET /metrics',
  'GET /-/drain/wait',
  'HEAD /healthz/ready',
])('%s is open to anybody, whatever the host and origin', (line) => {
  const headers = { host: 'evil.example', origin: 'http://evil.example' }
  expect(outcome(away, line, headers)).toBe('nobody viewer claimed')
})

test.each([
  ['GET /-/config', {}, 'unauthenticated'],
  ['GET /', {}, 'nobody viewer claimed'],
  ['GET /-/page/page.js', {}, 'nobody viewer claimed'],
  ['GET /', { host: 'evil.example' }, 'forbidden'],
  ['GET /', { origin: 'http://evil.example' }, 'forbidden'],
  ['POST /', json, 'unauthenticated'],
  ['POST /-/page/page.js', json, 'unauthenticated'],
  ['GET /-/events', {}, 'unauthenticated'],
  ['GET /-/events', viewer, 'screen viewer verified'],
  ['GET /-/nothing', {}, 'unauthenticated'],
  ['POST /metrics', json, 'unauthenticated'],
  ['GET /healthz/live/', {}, 'unauthenticated'],
  ['GET /-/config', viewer, 'screen viewer verified'],
  ['GET /-/config', operator, 'oncall operator verified'],
  ['GET /-/config', { authorization: 'bearer op-token' }, 'oncall operator verified'],
  ['GET /-/config', { authorization: 'Bearer op-toke' }, 'unauthenticated'],
  ['GET /-/config', { authorization: 'Basic op-token' }, 'unauthenticated'],
  ['GET /-/config', { authorization: `Bearer ${'x'.repeat(10_000)}` }, 'unauthenticated'],
  ['POST /-/drain', { ...operator, ...json }, 'oncall operator verified'],
  ['POST /-/drain', { ...viewer, ...json }, 'forbidden'],
  ['POST /-/layers/cache/rollback', { ...viewer, ...json }, 'forbidden'],
  ['POST /-/layers/cache/rollback', { ...operator, ...json }, 'oncall operator verified'],
  ['POST /-/drain', operator, 'unsupported_media_type'],
  ['POST /-/drain', { ...operator, 'content-type': 'text/plain' }, 'unsupported_media_type'],
  ['POST /-/drain', { ...operator, 'content-type': 'application/jsonx' }, 'unsupported_media_type'],
  ['POST /-/drain', { ...operator, 'content-type': 'application/json; charset=utf-8' }, 'oncall operator verified'],
  ['POST /-/analysis/rollback', { ...viewer, ...json }, 'screen viewer verified'],
  ['POST /-/analysis/rollback', { ...basic('any:view-token'), ...json }, 'screen viewer verified'],
  ['POST /-/analysis/rollback', { ...basic('any:wrong'), ...json }, 'unauthenticated'],
  ['POST /-/analysis/rollback', basic('any:view-token'), 'unsupported_media_type'],
  ['GET /-/analysis', basic('any:view-token'), 'unauthenticated'],
  ['POST /-/drain', { ...basic('any:op-token'), ...json }, 'unauthenticated'],
  ['POST /-/peers', json, 'nobody viewer claimed'],
  ['POST /-/peers', { ...json, host: 'any.example' }, 'nobody viewer claimed'],
  ['POST /-/peers', {}, 'unsupported_media_type'],
  ['GET /-/peers', {}, 'unauthenticated'],
  ['PUT /-/drain', { ...operator, ...json }, 'method_not_allowed'],
  ['OPTIONS /-/drain', operator, 'method_not_allowed'],
])('away from loopback, %s with %o is %s', (line, headers, expected) => {
  expect(outcome(away, line, headers as Record<string, string>)).toBe(expected)
})

test.each([
  ['GET /-/config', {}, 'loopback operator claimed'],
  ['POST /-/drain', json, 'loopback operator claimed'],
  ['POST /-/drain', { ...json, 'x-foldgate-actor': 'mia' }, 'mia operator claimed'],
  ['POST /-/drain', { ...json, 'x-foldgate-actor': 'mia\u001b[2J' }, 'loopback operator claimed'],
  ['POST /-/drain', {}, 'unsupported_media_type'],
  ['POST /-/drain', { ...json, ...viewer }, 'forbidden'],
  ['GET /-/config', { authorization: 'Bearer wrong' }, 'unauthenticated'],
])('on loopback, %s with %o is %s', (line, headers, expected) => {
  expect(outcome(near, line, { host: '127.0.0.1:9901', ...(headers as Record<string, string>) })).toBe(expected)
})

test('a name claimed away from loopback counts for nothing', () => {
  expect(outcome(away, 'GET /-/config', { ...operator, 'x-foldgate-actor': 'mia' })).toBe('oncall operator verified')
})

test.each([
  ['127.0.0.1:9901', true],
  ['127.9.9.9', true],
  ['localhost', true],
  ['LOCALHOST:1', true],
  ['[::1]:9901', true],
  ['[::ffff:127.0.0.1]', true],
  ['10.1.2.3', true],
  ['10.1.2.3:9901', true],
  ['admin.example', true],
  ['ADMIN.example:1234', true],
  ['gate.example:9901', true],
  ['gate.example:9902', false],
  ['gate.example', false],
  ['evil.example', false],
  ['10.1.2.4', false],
  ['127.0.0.1.evil.example', false],
  ['localhost.evil.example', false],
  ['evil.example@127.0.0.1', false],
  ['127.0.0.1/evil', false],
  ['', false],
])('the host %s is %s', (host, good) => {
  const expected = good ? 'oncall operator verified' : 'forbidden'
  expect(outcome(away, 'GET /-/config', { ...operator, host })).toBe(expected)
})

test('two host headers are none', () => {
  const asked: Asked = {
    method: 'GET',
    path: '/-/config',
    headers: { host: 'localhost' },
    hostCount: 2,
    localAddress: '127.0.0.1',
  }
  expect(() => admit(asked, near)).toThrow(/host header/)
})

test.each([
  ['http://admin.example', 'admin.example', true],
  ['http://admin.example:80', 'admin.example', true],
  ['https://admin.example', 'admin.example:443', true],
  ['http://ADMIN.example', 'admin.example', true],
  ['http://[::1]:9901', '[::1]:9901', true],
  ['http://admin.example:9901', 'admin.example', false],
  ['http://evil.example', 'admin.example', false],
  ['http://admin.example.evil', 'admin.example', false],
  ['null', 'admin.example', false],
  ['file://', 'admin.example', false],
  ['', 'admin.example', false],
  ['chrome-extension://admin.example', 'admin.example', false],
])('the origin %s at the host %s is %s', (origin, host, good) => {
  for (const line of ['GET /-/config', 'POST /-/drain']) {
    expect(outcome(away, line, { ...operator, ...json, origin, host })).toBe(
      good ? 'oncall operator verified' : 'forbidden',
    )
  }
})
