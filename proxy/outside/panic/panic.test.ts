import { execFileSync } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { until } from '../../../test/support/gate.ts'
import { failOnLeaks } from '../../../test/support/leaks.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { watchPanicFile } from './panic-file.ts'
import { onPanicSignal } from './panic-signal.ts'

failOnLeaks()

/** A watch that looks every millisecond, and what it told. */
function watching(path: string) {
  const told: string[] = []
  const watch = watchPanicFile({
    path,
    everyMs: 1,
    appeared: (reason) => void told.push(`there: ${reason}`),
    gone: () => void told.push('gone'),
    blind: (words) => void told.push(`blind: ${words}`),
  })
  const heard = (count: number) =>
    until(
      () => told.length >= count,
      () => `${count} things are told: ${told.join(' | ')}`,
    )
  return { watch, told, heard, [Symbol.dispose]: () => watch.close() }
}

describe('a panic file', () => {
  it('is told of once when it is there and once when it is gone', async () => {
    await using dir = createTempDir()
    const path = dir.file('panic')
    using rig = watching(path)
    await rig.watch.looked
    expect([rig.told, rig.watch.there]).toEqual([[], false])
    writeFileSync(path, 'the runner lies\nsecond line')
    await rig.heard(1)
    expect(rig.watch.there).toBe(true)
    writeFileSync(path, 'another reason')
    rmSync(path)
    await rig.heard(2)
    expect(rig.told).toEqual(['there: the runner lies', 'gone'])
  })

  it('that is there from the start is known after the first look', async () => {
    await using dir = createTempDir()
    writeFileSync(dir.file('panic'), '')
    using rig = watching(dir.file('panic'))
    await rig.watch.looked
    expect(rig.told).toEqual([`there: ${dir.file('panic')} is there`])
  })

  it('counts by being there, whatever it is, and a pipe does not hang it', async () => {
    await using dir = createTempDir()
    mkdirSync(dir.file('folder'))
    execFileSync('mkfifo', [dir.file('pipe')])
    using folder = watching(dir.file('folder'))
    using pipe = watching(dir.file('pipe'))
    await Promise.all([folder.watch.looked, pipe.watch.looked])
    expect([...folder.told, ...pipe.told].map((each) => each.slice(0, 6))).toEqual(['there:', 'there:'])
  })

  it('is followed through links that are swapped under it, as in a ConfigMap', async () => {
    await using dir = createTempDir()
    const [old, next] = [dir.file('v1'), dir.file('v2')]
    for (const each of [old, next]) mkdirSync(each)
    writeFileSync(join(old, 'panic'), 'by the config map')
    symlinkSync('v1', dir.file('..data'))
    symlinkSync('..data/panic', dir.file('panic'))
    using rig = watching(dir.file('panic'))
    await rig.heard(1)
    symlinkSync('v2', dir.file('..new'))
    renameSync(dir.file('..new'), dir.file('..data'))
    await rig.heard(2)
    expect(rig.told).toEqual(['there: by the config map', 'gone'])
  })

  it('shows no control characters, and no more than a line', async () => {
    await using dir = createTempDir()
    writeFileSync(dir.file('panic'), `\u001b[31mred\u202e ${'x'.repeat(5_000)}`)
    using rig = watching(dir.file('panic'))
    await rig.watch.looked
    expect(rig.told[0]).toMatch(/^there: \[31mred x+$/)
    expect(rig.told[0]).toHaveLength('there: '.length + 200)
  })

  it('keeps to what was known while it cannot be looked at', async () => {
    await using dir = createTempDir()
    writeFileSync(dir.file('panic'), 'fire')
    using rig = watching(dir.file('panic'))
    await rig.watch.looked
    rmSync(dir.file('panic'))
    symlinkSync('panic', dir.file('panic'))
    await rig.heard(2)
    expect([rig.told[1], rig.watch.there]).toEqual([`blind: ${dir.file('panic')} cannot be looked at: ELOOP`, true])
    rmSync(dir.file('panic'))
    await rig.heard(3)
    expect(rig.told[2]).toBe('gone')
  })

  it('is told of without its reason where it may not be read', async () => {
    await using dir = createTempDir()
    writeFileSync(dir.file('panic'), 'secret')
    chmodSync(dir.file('panic'), 0)
    using rig = watching(dir.file('panic'))
    await rig.watch.looked
    expect(rig.told[0]).toMatch(process.getuid?.() === 0 ? /^there: secret$/ : /^there: .* is there$/)
  })

  it('is not looked for once it is closed', async () => {
    await using dir = createTempDir()
    const rig = watching(dir.file('panic'))
    rig.watch.close()
    await rig.watch.looked
    writeFileSync(dir.file('panic'), 'late')
    using other = watching(dir.file('panic'))
    await other.heard(1)
    expect(rig.told).toEqual([])
  })
})

describe('SIGUSR2', () => {
  it('calls back each time until it is let go', () => {
    const source = new EventEmitter()
    const heard: string[] = []
    const letGo = onPanicSignal((reason) => void heard.push(reason), source)
    source.emit('SIGUSR2')
    source.emit('SIGUSR2')
    letGo()
    source.emit('SIGUSR2')
    expect(heard).toEqual(['SIGUSR2', 'SIGUSR2'])
  })

  it('of a real process arrives', async () => {
    const heard = Promise.withResolvers<string>()
    const letGo = onPanicSignal(heard.resolve)
    process.kill(process.pid, 'SIGUSR2')
    expect(await heard.promise).toBe('SIGUSR2')
    letGo()
  })
})
