import { describe, expect, it } from 'vitest'
import { createApiKey } from './api-key.ts'
import { bearing, hexHash, openAuthRig } from './test-host.ts'

describe('an API key', () => {
  it('is new each time, has 256 bits, and is known by its hash', () => {
    const made = [createApiKey(), createApiKey()]
    for (const { key, hash } of made) {
      expect(key).toMatch(/^fg_[A-Za-z0-9_-]{43}$/)
      expect(hash).toBe(hexHash(key))
    }
    expect(made[0]?.key).not.toBe(made[1]?.key)
  })

  it.each(['', '\n', '\r\n'])('is found by the hash in its file, ending %j', async (ending) => {
    const { key, hash } = createApiKey()
    const apiKeys = [{ id: 'ci', hashFile: 'ci.hash', tenant: 't1' }]
    const rig = await openAuthRig({ apiKeys }, { files: { 'ci.hash': `${hash.toUpperCase()}${ending}` } })
    expect((await rig.principal(bearing(key))).id).toBe('ci')
    expect((await rig.refusal(bearing(hash))).status).toBe(401)
    expect((await rig.refusal(bearing(key.toUpperCase()))).status).toBe(401)
  })

  it.each(['', 'x', `${'0'.repeat(64)}\n\n`, '0'.repeat(63), ` ${'0'.repeat(64)}`])(
    'file that holds %j is a fault',
    async (content) => {
      const apiKeys = [{ id: 'ci', hashFile: 'ci.hash', tenant: 't1' }]
      await expect(openAuthRig({ apiKeys }, { files: { 'ci.hash': content } })).rejects.toThrow(
        /apiKeys\[0\]\.hashFile/,
      )
    },
  )

  it('may have a successor under the same id', async () => {
    const [old, next] = [createApiKey(), createApiKey()]
    const apiKeys = [old, next].map(({ hash }) => ({ id: 'ci', hash, tenant: 't1' }))
    const rig = await openAuthRig({ apiKeys })
    for (const { key } of [old, next]) expect((await rig.principal(bearing(key))).id).toBe('ci')
  })
})
