import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { unzipEntry, zipEntries } from './zip.ts'
import { createZip } from './zip-fixture.ts'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'zip-'))
})
afterEach(() => rm(folder, { recursive: true }))

const big = Buffer.from('0123456789abcdef'.repeat(20_000))

async function archive(bytes: Buffer): Promise<string> {
  const file = join(folder, 'a.zip')
  await writeFile(file, bytes)
  return file
}

it('stored and deflated files come out as they went in', async () => {
  const file = await archive(
    createZip([
      ['stored/ä.txt', Buffer.from('plain'), 0],
      ['big.bin', big, 8],
      ['empty', Buffer.alloc(0), 0],
    ]),
  )
  const entries = await zipEntries(file)
  expect(entries.map(({ name, size }) => [name, size])).toEqual([
    ['stored/ä.txt', 5],
    ['big.bin', big.length],
    ['empty', 0],
  ])
  await unzipEntry(file, entries[0]!, join(folder, 'out'))
  expect(await readFile(join(folder, 'out'), 'utf8')).toBe('plain')
  await unzipEntry(file, entries[1]!, join(folder, 'out'))
  expect((await readFile(join(folder, 'out'))).equals(big)).toBe(true)
})

it('a damaged file is found out', async () => {
  const bytes = createZip([['big.bin', big, 0]])
  bytes[1000]! ^= 1
  const file = await archive(bytes)
  const [entry] = await zipEntries(file)
  await expect(unzipEntry(file, entry!, join(folder, 'out'))).rejects.toThrow(/big.bin is damaged/)
})

it('a file that unpacks to more than it says is stopped', async () => {
  const file = await archive(createZip([['bomb', big, 8]]))
  const [entry] = await zipEntries(file)
  await expect(unzipEntry(file, { ...entry!, size: 1000 }, join(folder, 'out'))).rejects.toThrow(/larger than it says/)
})

it.each([
  ['nothing', Buffer.alloc(0)],
  ['text', Buffer.from('not an archive')],
  ['an end without a directory', Buffer.concat([Buffer.from([0x50, 0x4b, 5, 6]), Buffer.alloc(18, 1)])],
])('%s is refused', async (_what, bytes) => {
  const file = await archive(bytes)
  await expect(zipEntries(file)).rejects.toMatchObject({ code: 'model_unavailable' })
})
