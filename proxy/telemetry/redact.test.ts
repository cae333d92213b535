import { describe, expect, it } from 'vitest'
import { gatewayError } from '../../plugins/errors.ts'
import { credentialHeaders } from '../../plugins/headers.ts'
import { safeFields, safeText } from './redact.ts'

const secret = 'S3cr3t-v4lue-0123456789'

describe('fields', () => {
  it('lose every credential header, however deep it lies and however it is written', () => {
    for (const name of credentialHeaders) {
      const fields = { headers: { [name]: secret }, deep: [{ request: { headers: { [name.toUpperCase()]: secret } } }] }
      expect(JSON.stringify(safeFields(fields)), name).not.toContain(secret)
    }
  })

  it.each([
    'apiKey',
    'api_key',
    'x-api-key',
    'token',
    'accessToken',
    'refresh_token',
    'password',
    'clientSecret',
    'Authorization',
    'set-cookie',
    'credentials',
    'privateKey',
  ])('named %s are not said', (name) => {
    expect(JSON.stringify(safeFields({ [name]: secret, other: { [name]: [secret] } }))).not.toContain(secret)
  })

  it('that hold prompt text are not said', () => {
    const fields = {
      request: { messages: [{ role: 'user', content: secret }], prompt: secret, input: [secret], stop: [secret] },
    }
    expect(JSON.stringify(safeFields({ ...fields, body: secret }))).not.toContain(secret)
  })

  it('that only count are said', () => {
    const fields = {
      tokens: 12,
      input: 700,
      prompt: 3,
      keyId: 'k1',
      tokens_per_minute: 100,
      authorized: true,
      tenant: 't1',
    }
    expect(safeFields(fields)).toEqual(fields)
  })

  it('are not changed themselves', () => {
    const fields = { headers: { authorization: secret } }
    safeFields(fields)
    expect(fields.headers.authorization).toBe(secret)
  })

  it('that are errors lose secrets in message, stack and cause, and keep their code', () => {
    const cause = Object.assign(new Error(`connect https://user:${secret}@host:1/v1?key=${secret}`), {
      code: 'ECONNREFUSED',
    })
    const safe = safeFields({ err: gatewayError('runner_unreachable', 'the runner cannot be reached', { cause }) })
    expect(JSON.stringify(safe)).not.toContain(secret)
    expect(safe['err']).toMatchObject({
      type: 'GatewayError',
      code: 'runner_unreachable',
      cause: { code: 'ECONNREFUSED', message: 'connect https://host:1/v1' },
    })
  })

  it('of any shape end: circles, depth, length and bytes are cut', () => {
    const circle: Record<string, unknown> = {}
    circle['self'] = circle
    let deep: unknown = secret
    for (let level = 0; level < 10_000; level++) deep = [deep]
    const safe = safeFields({
      circle,
      deep,
      long: 'x'.repeat(1e6),
      bytes: Buffer.from(secret),
      many: Array(1e5).fill(1),
    })
    const text = JSON.stringify(safe)
    expect(text).not.toContain(secret)
    expect(text.length).toBeLessThan(10_000)
  })
})

describe('a text', () => {
  it.each([
    [`GET https://api.example.com/v1/models?key=${secret}&x=1 failed`, 'GET https://api.example.com/v1/models failed'],
    [`redis://default:${secret}@redis:6379/0`, 'redis://redis:6379/0'],
    [`Authorization: Bearer ${secret}`, 'Authorization: Bearer [redacted]'],
    [`basic ${secret}`, 'basic [redacted]'],
    [`incorrect key sk-${secret}`, 'incorrect key [redacted]'],
    [`token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.${secret}`, 'token [redacted]'],
    [`/v1/models?api_key=${secret}`, '/v1/models?api_key=[redacted]'],
  ])('%s loses what is secret', (text, safe) => {
    expect(safeText(text)).toBe(safe)
  })

  it('that holds nothing secret stays as it is', () => {
    for (const text of [
      'runner gpu-a ejected for 1000 ms',
      'messages[0].role: is required',
      'http://127.0.0.1:8000/v1',
    ]) {
      expect(safeText(text)).toBe(text)
    }
  })

  it('of a hostile shape takes linear time', () => {
    const start = performance.now()
    for (const part of ['a://', 'bearer ', 'key=', 'sk-', 'eyJ', '@', 'a.', '://@']) safeText(part.repeat(250_000))
    expect(performance.now() - start).toBeLessThan(1000)
  })
})
