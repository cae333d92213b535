import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { createTempDir, type TempDir } from '../test/support/temp-dir.ts'
import { fingerprintFiles } from './fingerprint.ts'
import { type FileWatch, type WatchOptions, watchFiles } from './watch.ts'

const open: FileWatch[] = []
afterEach(() => {
  for (const watch of open.splice(0)) watch.close()
})

function watched(files: () => readonly string[], options: Partial<WatchOptions> = {}) {
  const changed = vi.fn(async () => {})
  // A long poll, so that it is the file system that tells.
  open.push(watchFiles({ files, changed, quietMs: 30, maxWaitMs: 300, pollMs: 600_000, ...options }))
  return changed
}

const times = (count: number, changed: { mock: { calls: unknown[] } }) =>
  vi.waitFor(() => expect(changed.mock.calls.length).toBeGreaterThanOrEqual(count), { timeout: 4_000, interval: 5 })

function configMap(dir: TempDir): { file: string; swap(version: string, content: string): void } {
  const swap = (version: string, content: string) => {
    mkdirSync(dir.file(`..${version}`))
    writeFileSync(dir.file(`..${version}/gateway.yaml`), content)
    symlinkSync(`..${version}`, dir.file('..data_tmp'))
    renameSync(dir.file('..data_tmp'), dir.file('..data'))
  }
  swap('v1', 'one')
  symlinkSync('..data/gateway.yaml', dir.file('gateway.yaml'))
  return { file: dir.file('gateway.yaml'), swap }
}

test('a file that is written is seen', async () => {
  await using dir = createTempDir()
  writeFileSync(dir.file('a'), 'one')
  const changed = watched(() => [dir.file('a')])
  writeFileSync(dir.file('a'), 'two')
  await times(1, changed)
})

test('a ConfigMap’s swap of its ..data link is seen, again and again, also when the old directory goes', async () => {
  await using dir = createTempDir()
  const { file, swap } = configMap(dir)
  const changed = watched(() => [file])
  for (const [index, version] of ['v2', 'v3', 'v4'].entries()) {
    swap(version, `content ${version}`)
    rmSync(dir.file(`..v${index + 1}`), { recursive: true })
    await times(index + 1, changed)
  }
})

test('a swap to the same content is no change', async () => {
  await using dir = createTempDir()
  const { file, swap } = configMap(dir)
  const changed = watched(() => [file])
  swap('v2', 'one')
  swap('v3', 'two')
  await times(1, changed)
  expect(changed).toHaveBeenCalledTimes(1)
})

test('a rename over the file is seen, and its absence for a moment is not', async () => {
  await using dir = createTempDir()
  writeFileSync(dir.file('a'), 'one')
  const changed = watched(() => [dir.file('a')], { maxWaitMs: 60_000 })
  rmSync(dir.file('a'))
  writeFileSync(dir.file('b'), 'two')
  renameSync(dir.file('b'), dir.file('a'))
  await times(1, changed)
  expect(changed).toHaveBeenCalledTimes(1)
})

test('a file that stays away is told in the end', async () => {
  await using dir = createTempDir()
  writeFileSync(dir.file('a'), 'one')
  const changed = watched(() => [dir.file('a')])
  rmSync(dir.file('a'))
  await times(1, changed)
})

test('twenty writes a second are few calls, never two at once, and the last content is seen', async () => {
  await using dir = createTempDir()
  writeFileSync(dir.file('a'), 'one')
  let running = 0
  let most = 0
  const seen: string[] = []
  const changed = vi.fn(async () => {
    most = Math.max(most, ++running)
    seen.push(readFileSync(dir.file('a'), 'utf8'))
    await pause(20)
    running--
  })
  open.push(watchFiles({ files: () => [dir.file('a')], changed, quietMs: 80, maxWaitMs: 400, pollMs: 600_000 }))
  for (let write = 1; write <= 30; write++) {
    writeFileSync(dir.file('a'), `content ${write}`)
    await pause(50)
  }
  await vi.waitFor(() => expect(seen.at(-1)).toBe('content 30'), { timeout: 4_000 })
  expect(most).toBe(1)
  expect(changed.mock.calls.length).toBeGreaterThanOrEqual(2)
  expect(changed.mock.calls.length).toBeLessThanOrEqual(8)
})

test('another list of files is followed after a change', async () => {
  await using dir = createTempDir()
  await using other = createTempDir()
  writeFileSync(dir.file('a'), 'one')
  writeFileSync(other.file('key'), 'one')
  let files = [dir.file('a')]
  const changed = watched(() => files)
  files = [dir.file('a'), other.file('key')]
  writeFileSync(dir.file('a'), 'two')
  await times(1, changed)
  const before = changed.mock.calls.length
  writeFileSync(other.file('key'), 'two')
  await times(before + 1, changed)
})

test('where the file system tells nothing, comparing now and then does', async () => {
  await using dir = createTempDir()
  const changed = watched(() => [dir.file('sub/a')], { pollMs: 30 })
  mkdirSync(dir.file('sub'))
  writeFileSync(dir.file('sub/a'), 'one')
  await times(1, changed)
})

test('a closed watch says nothing more', async () => {
  await using dir = createTempDir()
  writeFileSync(dir.file('a'), 'one')
  const first = watched(() => [dir.file('a')])
  open[0]?.close()
  const second = watched(() => [dir.file('a')])
  writeFileSync(dir.file('a'), 'two')
  await times(1, second)
  expect(first).not.toHaveBeenCalled()
})

test('a change that fails to be applied does not end the watch', async () => {
  await using dir = createTempDir()
  writeFileSync(dir.file('a'), 'one')
  const changed = watched(() => [dir.file('a')])
  changed.mockRejectedValueOnce(new Error('no'))
  writeFileSync(dir.file('a'), 'two')
  await times(1, changed)
  writeFileSync(dir.file('a'), 'three')
  await times(2, changed)
})

test('what changed between reading and watching is a change', async () => {
  await using dir = createTempDir()
  writeFileSync(dir.file('a'), 'one')
  const since = fingerprintFiles([dir.file('a')]).digest
  const still = watched(() => [dir.file('a')], { since })
  writeFileSync(dir.file('a'), 'two')
  const changed = watched(() => [dir.file('a')], { since })
  await times(1, changed)
  await times(1, still)
})
