import { rmSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { layers } from '../../../plugins/index.ts'
import { createManualClock } from '../../../test/support/clock.ts'
import { until } from '../../../test/support/gate.ts'
import { createTestHost } from '../../../test/support/host.ts'
import { failOnLeaks } from '../../../test/support/leaks.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { createStages } from '../../folding/stages.ts'
import { createEmbeddedState } from '../../folding/state/embedded.ts'
import { createReplica } from '../../folding/state/replica.ts'
import { createPanicGuard } from './panic-guard.ts'

failOnLeaks()

const by = { actor: 'ada', reason: 'a test' }
const movable = layers.map(({ name, reads, writes, answers, rewrites }) => ({
  ...{ name, reads, writes, answers, rewrites, stays: undefined },
}))

/** Stages with postprocess native, a guard over them, and what it told. */
async function guarded() {
  const host = createTestHost()
  const clock = createManualClock()
  const told: string[] = []
  const stages = createStages({
    state: createEmbeddedState({ replica: createReplica('r1', clock.now()), log: host.log }),
    clock,
    artifactOf: () => 'a',
    // Not blocked: what reaches this replica from others is not asked here.
    changed: (change) => guard.moved(change),
  })
  const guard = createPanicGuard({ stages, log: host.log, appeared: (reason) => void told.push(reason) })
  await stages.configure({ layers: movable, stages: { postprocess: 'native' }, steps: [100], tiers: [] })
  const stage = (): string => stages.of('postprocess').stage
  return { stages, guard, told, stage, host, [Symbol.dispose]: () => guard.close() }
}

it('brings every layer back and holds it there, and lets go when the file goes', async () => {
  await using dir = createTempDir()
  writeFileSync(dir.file('panic'), 'fire')
  using rig = await guarded()
  await rig.guard.watch(dir.file('panic'))
  expect([rig.stage(), rig.told, rig.guard.why]).toEqual(['rolled-back', ['fire'], 'the panic file is there: fire'])
  expect(rig.stages.state.known.hold).toBe('panic file: fire')
  rmSync(dir.file('panic'))
  await until(
    () => rig.stages.state.known.hold === '',
    () => 'the hold is taken away',
  )
  expect([rig.guard.why, rig.stage()]).toEqual([undefined, 'rolled-back'])
})

it('takes back a layer that another replica moves out while the file is there', async () => {
  await using dir = createTempDir()
  writeFileSync(dir.file('panic'), 'fire')
  using rig = await guarded()
  await rig.guard.watch(dir.file('panic'))
  await rig.stages.ask('shadow', 'postprocess', by)
  await until(
    () => rig.stage() === 'rolled-back',
    () => 'the layer is back',
  )
})

it('takes away the hold of a file that went while nobody looked, and of one that is not watched any more', async () => {
  await using dir = createTempDir()
  using rig = await guarded()
  await rig.stages.holdAll('panic file: of yesterday', by)
  await rig.guard.watch(dir.file('panic'))
  expect(rig.stages.state.known.hold).toBe('')
  writeFileSync(dir.file('other'), 'fire')
  await rig.guard.watch(dir.file('other'))
  expect(rig.stages.state.known.hold).toBe('panic file: fire')
  await rig.guard.watch(null)
  await until(
    () => rig.stages.state.known.hold === '',
    () => 'the hold is taken away',
  )
})

it('leaves a hold alone that is not its own', async () => {
  await using dir = createTempDir()
  using rig = await guarded()
  await rig.stages.holdAll('the store came back empty', by)
  await rig.guard.watch(dir.file('panic'))
  expect(rig.stages.state.known.hold).toBe('the store came back empty')
})
