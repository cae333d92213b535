import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { withLock } from './lock.ts'

let folder = ''
let lock = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lock-'))
  lock = join(folder, 'it.lock')
})
afterEach(() => rm(folder, { recursive: true }))

const fast = { pollMs: 5 }

it('work under one lock is done one after another', async () => {
  let inside = 0
  let most = 0
  const work = async () => {
    most = Math.max(most, ++inside)
    await new Promise((resolve) => setImmediate(resolve))
    inside--
  }
  await Promise.all(Array.from({ length: 8 }, () => withLock(lock, work, fast)))
  expect(most).toBe(1)
  await expect(stat(lock)).rejects.toThrow()
})

it('work that fails gives the lock back and fails', async () => {
  await expect(withLock(lock, () => Promise.reject(new RangeError('no')), fast)).rejects.toThrow('no')
  expect(await withLock(lock, async () => 'next', fast)).toBe('next')
})

it('a lock whose process is gone is taken over, by one of those who wait', async () => {
  const { pid } = spawnSync(process.execPath, ['--version'])
  await mkdir(lock)
  await writeFile(join(lock, 'owner.json'), JSON.stringify({ pid, host: hostname(), token: 'old' }))
  const order: number[] = []
  await Promise.all([1, 2, 3].map((name) => withLock(lock, async () => void order.push(name), fast)))
  expect(order.toSorted()).toEqual([1, 2, 3])
})

it('a lock of another machine counts until it was not touched for too long', async () => {
  await mkdir(lock)
  await writeFile(join(lock, 'owner.json'), JSON.stringify({ pid: 1, host: 'elsewhere', token: 'old' }))
  let waited = ''
  const taken = withLock(lock, async () => 'mine', { ...fast, onWait: (holder) => void release(holder) })
  const release = async (holder: string) => {
    waited = holder
    const old = new Date(Date.now() - 120_000)
    await utimes(lock, old, old)
  }
  expect(await taken).toBe('mine')
  expect(waited).toBe('process 1')
})
