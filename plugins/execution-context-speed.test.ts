import { describe, expect, it } from 'vitest'
import type { Acknowledgement } from './acknowledgement.ts'
import { acknowledgementKey, sealAcknowledgement, verifyAcknowledgement } from './acknowledgement-verify.ts'
import { context, key, opening, pairKey, pol, versions } from './execution-context.support.ts'
import { contextFault } from './execution-context.ts'
import { openContext } from './execution-context-open.ts'
import { sealContext } from './execution-context-seal.ts'
import { signJws, verifyJws } from './jws.ts'
import { createKeyRing } from './jws-key.ts'

/** Runs an action in twenty batches and says how long one takes in the quickest of them, in microseconds. */
function microseconds(batch: number, action: () => void): number {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < 20; round += 1) {
    const start = performance.now()
    for (let time = 0; time < batch; time += 1) action()
    least = Math.min(least, ((performance.now() - start) * 1_000) / batch)
  }
  return least
}

/** What runs on every call is told, not judged: a shared machine says little about a quiet one. */
describe('what one call costs', () => {
  const payload = JSON.stringify({ text: 'x'.repeat(688) })
  const keys = createKeyRing([key])
  const token = signJws(payload, key, 'exec-ctx+jws')
  const sealed = sealContext(context, key)
  const header = sealed.ok ? sealed.header : ''
  const macKey = acknowledgementKey(key)
  const e = Buffer.alloc(16, 1).toString('base64')
  const said: Acknowledgement = {
    runner: { boot: 'b_1', caps: pol, id: context.id, pol },
    layers: Object.fromEntries(
      Object.entries(context.modes).map(([layer, m]) => [layer, { v: 1, m, o: 'pass', d: 21, e }]),
    ),
    usage: { in: 700, out: 128, cached: 512 },
  }
  const sealing = { part: 'head', key: macKey } as const
  const text = sealAcknowledgement(said, context, sealing)
  // A set that forgets at once, so that the same context is fresh each time.
  const forgetful = opening({ replay: { size: 0, record: () => 'fresh' } })
  const pair = pairKey('p1', 3)
  const [pairs, signed] = [createKeyRing([pair]), signJws(payload, pair, 'exec-ctx+jws')]

  it.each<[string, number, () => void]>([
    [`JWS HS256 of ${payload.length} bytes, sign`, 200, () => void signJws(payload, key, 'exec-ctx+jws')],
    [`JWS HS256 of ${payload.length} bytes, verify`, 200, () => void verifyJws(token, 'exec-ctx+jws', keys)],
    ['JWS EdDSA, sign', 10, () => void signJws(payload, pair, 'exec-ctx+jws')],
    ['JWS EdDSA, verify', 10, () => void verifyJws(signed, 'exec-ctx+jws', pairs)],
    ['context, schema alone', 200, () => void contextFault(context)],
    [`context of ${header.length} bytes, seal`, 200, () => void sealContext(context, key)],
    [`context of ${header.length} bytes, open`, 200, () => void openContext(header, forgetful)],
    [`acknowledgement of ${text.length} bytes, seal`, 200, () => void sealAcknowledgement(said, context, sealing)],
    [
      `acknowledgement of ${text.length} bytes, verify`,
      200,
      () => void verifyAcknowledgement(text, { context, key: macKey, versions }),
    ],
  ])('%s', (name, batch, action) => {
    const each = microseconds(batch, action)
    console.log(`${name}: ${each.toFixed(1)} µs`)
    expect(each).toBeGreaterThan(0)
  })

  it('what is measured does succeed', () => {
    expect([verifyJws(token, 'exec-ctx+jws', keys).ok, verifyJws(signed, 'exec-ctx+jws', pairs).ok]).toEqual([
      true,
      true,
    ])
    expect(
      openContext(header, forgetful).ok && verifyAcknowledgement(text, { context, key: macKey, versions }).ok,
    ).toBe(true)
  })
})
