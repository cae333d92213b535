import { describe, expect, test } from 'vitest'
import { type Capabilities, withDigest } from '../../../plugins/capabilities.ts'
import { createDriftWatch, type Drift, sayDrifts } from './drift.ts'
import { acknowledgedDrifts, driftNotes, freshDrifts } from './drift-hold.ts'

const runnerOf = (boot: string, engine = '1.0'): Capabilities =>
  withDigest({
    ...{ versions: [1], runner: 'foldgate-native/0.1.0', boot, state: 'local', placement: 'in-engine' },
    ...{ engine: { name: 'echo', version: engine }, keys: ['k1'], maxContextBytes: 4_096, layers: {} },
    ...{ models: [{ id: 'm', contextTokens: 10 }], load: { running: 0, queued: 0, free: 1 } },
  })

function watching(rollout: string | undefined = 'R1') {
  const found: Drift[] = []
  const so: { rollout: string | undefined } = { rollout }
  const watch = createDriftWatch({ rollout: () => so.rollout, found: (drift) => void found.push(drift) })
  return { watch, found, so }
}

describe('a runner that changes while a layer moves', () => {
  test('is another process, said from which boot to which, and only once', () => {
    const { watch, found } = watching()
    watch.met('gpu-a', '10.0.0.1:80', runnerOf('b_1'))
    watch.met('gpu-a', '10.0.0.1:80', runnerOf('b_1'))
    expect(found).toEqual([])
    watch.met('gpu-a', '10.0.0.1:80', runnerOf('b_2'))
    watch.met('gpu-a', '10.0.0.1:80', runnerOf('b_2'))
    expect(sayDrifts(found)).toBe('upstream drift: runner gpu-a: another process: boot b_1 → b_2')
    expect(watch.of('R1')).toEqual(found)
    expect(watch.of('R2')).toEqual([])
  })

  test('can do other things, said member by member', () => {
    const { watch, found } = watching()
    watch.met('gpu-a', 'a', runnerOf('b_1'))
    watch.met('gpu-a', 'a', runnerOf('b_1', '2.0'))
    expect(found).toMatchObject([{ runner: 'gpu-a', what: 'capabilities' }])
    expect(found[0]?.words).toMatch(
      /^capabilities [0-9a-f]{8} → [0-9a-f]{8}: engine .*"version":"1.0"} → .*"version":"2.0"}$/,
    )
  })

  test('may grow by processes that can do the same, and not by others', () => {
    const { watch, found } = watching()
    watch.met('gpu-a', 'a', runnerOf('b_1'))
    watch.met('gpu-a', 'b', runnerOf('b_2'))
    watch.met('gpu-b', 'a', runnerOf('b_3', '9'))
    expect(found).toEqual([])
    watch.met('gpu-a', 'c', runnerOf('b_4', '2.0'))
    expect(found.map(({ what }) => what)).toEqual(['capabilities'])
    // Half of it has been replaced: those that follow are no news.
    watch.met('gpu-a', 'd', runnerOf('b_5', '2.0'))
    expect(found).toHaveLength(1)
  })

  test('names another fingerprint, unless it was named before in the same rollout', () => {
    const { watch, found, so } = watching()
    const of = { runner: 'gpu-a', model: 'm' }
    for (const name of ['fp_1', 'fp_1', 'fp_2', 'fp_1', 'fp_2']) watch.named(of, name)
    watch.named({ runner: 'gpu-a', model: 'other' }, 'fp_9')
    expect(found.map(({ words }) => words)).toEqual(['system_fingerprint of m fp_1 → fp_2'])
    so.rollout = 'R2'
    watch.named(of, 'fp_3')
    expect(watch.of('R2')).toEqual([])
  })

  test('is no news while nothing moves', () => {
    const { watch, found, so } = watching()
    so.rollout = undefined
    watch.met('gpu-a', 'a', runnerOf('b_1'))
    watch.met('gpu-a', 'a', runnerOf('b_2', '2.0'))
    watch.named({ runner: 'gpu-a', model: 'm' }, 'fp_1')
    expect(found).toEqual([])
  })

  test('is known by the same name at every replica, and what was held for is remembered with the rollout alone', () => {
    const [one, other] = [watching(), watching()]
    for (const { watch } of [one, other]) for (const boot of ['b_1', 'b_2']) watch.met('gpu-a', 'a', runnerOf(boot))
    const reports = [one, other].map(({ watch }) => ({ drifts: watch.of('R1') }))
    const fresh = freshDrifts([...reports, {}], [])
    expect(fresh).toEqual(one.found)
    const notes = driftNotes({ notes: { 'drift R0': 'x', freeze: '{}' } }, 'R1', [fresh[0]?.id ?? ''])
    expect(notes).toEqual({ 'drift R0': '', 'drift R1': fresh[0]?.id })
    expect(freshDrifts(reports, acknowledgedDrifts({ notes }, 'R1'))).toEqual([])
  })
})
