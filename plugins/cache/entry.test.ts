import { deflateRawSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bytesFromEntry, type Entry, entryFromBytes } from './entry.ts'

const meta = { sha: 'ab', madeAt: 1, askedAt: 0, ttlMs: 9, tenant: 't', route: 'chat', prompt: '1' }
const target = { runner: 'a', model: 'm' }
const entryOf = (text: string): Entry => ({ meta: { ...meta, target }, json: Buffer.from(text) })

describe('an entry', () => {
  test.each(['{}', `{"a":"${'北'.repeat(2000)}"}`])(
    'is read back as it was written, compressed or not',
    async (text) => {
      for (const compress of [false, true]) {
        const bytes = await bytesFromEntry(entryOf(text), compress)
        const back = await entryFromBytes(bytes, 1_000_000)
        expect(back?.meta).toEqual({ ...meta, target })
        expect(String(back?.json)).toBe(text)
      }
    },
  )

  test('is compressed above 1 KiB where it is asked to be, and only there', async () => {
    const size = async (length: number, compress: boolean) =>
      (await bytesFromEntry(entryOf('a'.repeat(length)), compress)).length
    expect(await size(10_000, true)).toBeLessThan(1_000)
    expect(await size(10_000, false)).toBeGreaterThan(10_000)
    expect(await size(1_024, true)).toBeGreaterThan(1_024)
  })

  test('that was cut, changed in its head or written by another version is none, and never throws', async () => {
    const bytes = await bytesFromEntry(entryOf(`{"a":"${'x'.repeat(3000)}"}`), true)
    for (let end = 0; end < bytes.length; end++)
      expect(await entryFromBytes(bytes.subarray(0, end), 1e6)).toBeUndefined()
    for (let at = 0; at < 9; at++) {
      const other = Buffer.from(bytes)
      other[at] = (other[at] as number) ^ 0x7f
      expect(await entryFromBytes(other, 1e6)).toBeUndefined()
    }
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (noise) => {
        expect(await entryFromBytes(Buffer.from(noise), 1e6)).toBeUndefined()
        await entryFromBytes(Buffer.concat([bytes.subarray(0, 9), noise]), 1e6)
      }),
      { seed: 4 },
    )
  })

  test('that unpacks to more than is stored is none', async () => {
    const bytes = await bytesFromEntry(entryOf('x'), false)
    const bomb = Buffer.concat([bytes.subarray(0, bytes.length - 1), deflateRawSync(Buffer.alloc(5_000_000))])
    bomb[4] = 1
    expect(await entryFromBytes(bomb, 1_000_000)).toBeUndefined()
    expect((await entryFromBytes(bomb, 5_000_000))?.json.length).toBe(5_000_000)
  })
})
