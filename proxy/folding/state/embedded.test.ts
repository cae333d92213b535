import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { startProcess } from '../../../test/support/processes.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { createEmbeddedState } from './embedded.ts'
import { createReplica } from './replica.ts'
import { layerAt, move, recordingLog, shares, silent } from './test-documents.ts'

const tripOf = (rolloutId: string) => ({ rolloutId, gen: 1, layer: 'auth', reason: 'bad' })
const open = (path?: string, log = silent) =>
  createEmbeddedState({ replica: createReplica('a', Date.now()), log, ...(path === undefined ? {} : { path }) })

describe('the state of a single process', () => {
  test('always leads, moves one layer at a time, and takes back for good (scenario 32)', async () => {
    const state = open()
    const heard: number[] = []
    state.onChange(({ rev }) => heard.push(rev))
    expect(await move(state, { auth: layerAt('canary', 'R1') })).toBe('done')
    expect(await move(state, { cache: layerAt('shadow', 'R2') })).toBe('second-layer')
    expect(await move(state, {}, { expectedRev: 0 })).toBe('stale')
    expect(await state.trip(tripOf('R1'))).toEqual({ confirmed: 1, of: 1, missing: [] })
    expect(await move(state, { auth: layerAt('canary', 'R1') })).toBe('tripped')
    expect(state.known.layers['auth']).toMatchObject({ stage: 'rolled-back', reason: 'bad' })
    expect(heard.at(-1)).toBe(2)
    state.publish('R1', 'S1', { n: 2 })
    expect(await state.collect('R1', 'S1')).toMatchObject([{ replica: 'a', counters: { n: 2 } }])
    expect((await state.history(10)).map(({ kind }) => kind)).toEqual(['transition', 'trip'])
    expect((await state.history(1)).map(({ kind }) => kind)).toEqual(['trip'])
  })

  test('outlives a restart, its latch and its history too, in a file that only its owner reads', async () => {
    await using dir = createTempDir()
    const path = dir.file('stages.json')
    const before = open(path)
    await move(before, { auth: layerAt('canary', 'R1', { weight: 700 }) }, { evidence: { n: 930 } })
    await before.trip(tripOf('R0'))
    expect(statSync(path).mode & 0o777).toBe(0o600)
    const after = open(path)
    expect(after.known).toEqual(before.known)
    expect(await after.history(10)).toEqual(await before.history(10))
    expect(await move(after, { cache: layerAt('native', 'R0') })).toBe('tripped')
    expect(await move(after, {}, { fence: before.lead()?.fence ?? 0 })).toBe('fenced')
    expect(await move(after, { auth: layerAt('canary', 'R1', { weight: 800 }) })).toBe('done')
  })

  test.each([
    '',
    '{"version":1',
    '{"version":2,"values":{}}',
    '{"version":1,"values":{"{foldgate:stages}:state":"{}"}}',
    '\0',
  ])('a file that reads %j is said, put aside, and followed by a fresh start on hold', async (text) => {
    await using dir = createTempDir()
    const path = dir.file('stages.json')
    writeFileSync(path, text)
    const log = recordingLog()
    const state = open(path, log)
    expect(state.known).toMatchObject({ layers: {}, hold: expect.stringContaining('could not be read') })
    expect(log.lines.join()).toContain(path)
    expect(readFileSync(`${path}.corrupt`, 'utf8')).toBe(text)
    expect(open(path).known.hold).not.toBe('')
    expect(await move(open(path), { auth: layerAt('shadow', 'R1') }, { hold: '' })).toBe('done')
    expect(open(path).known.hold).toBe('')
  })

  test('a change that cannot be written down is refused, and a trip holds all the same', async () => {
    await using dir = createTempDir()
    const path = dir.file('stages.json')
    const log = recordingLog()
    const state = open(path, log)
    await move(state, { auth: layerAt('canary', 'R1') })
    await dir[Symbol.asyncDispose]()
    expect(await move(state, { auth: layerAt('canary', 'R1', { weight: 900 }) })).toBe('unavailable')
    expect(shares(state.known)['R1']).toBe(100)
    await state.trip(tripOf('R1'))
    expect(shares(state.known)['R1']).toBe(0)
    expect(await move(state, { auth: layerAt('canary', 'R1') })).not.toBe('done')
    expect(log.lines.join()).toContain('cannot be written down')
    // A process that could not write from the start does not lead.
    expect(open(path, log).lead()).toBeUndefined()
  })

  test('is whole at whatever moment its process is killed', { timeout: 60_000 }, async () => {
    await using dir = createTempDir()
    const path = dir.file('stages.json')
    const lastOf = (output: string) => Number(output.match(/rev (\d+)\n$/)?.[1] ?? 0)
    let known = 0
    for (let round = 0; round < 6; round++) {
      const child = await startProcess({ args: [`${import.meta.dirname}/test-writer.ts`, path], ready: /rev \d+\n/ })
      // Nobody who looks at it meanwhile ever sees a part of it.
      while (lastOf(child.stdout) < known + 15 + round * 7) {
        expect(readFileSync(path, 'utf8')).toMatch(/^\{"version":1,.*\}\n$/s)
        await new Promise((next) => setImmediate(next))
      }
      await child.kill()
      const said = lastOf(child.stdout)
      const log = recordingLog()
      const state = open(path, log)
      expect(log.lines).toEqual([])
      // Everything that was said to be done is there, and of what was under way all or nothing.
      expect(state.known.rev).toBeGreaterThanOrEqual(said)
      expect(state.known.rev - said).toBeLessThanOrEqual(2)
      expect(state.known.hold).toBe('')
      known = state.known.rev
    }
    expect(readdirSync(dir.path).filter((name) => name.includes('corrupt'))).toEqual([])
  })
})
