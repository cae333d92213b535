import { describe, expect, test } from 'vitest'
import { until } from '../../../test/support/gate.ts'
import { redisAvailable, startServer } from '../../../test/support/redis.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { createEmbeddedState } from './embedded.ts'
import { createReplica } from './replica.ts'
import type { RolloutState } from './state.ts'
import { isOn, switchedOn, turnSwitch } from './switches.ts'
import { layerAt, move, silent } from './test-documents.ts'
import { createPeers } from './test-peers.ts'
import { createReplicas, leaderOf } from './test-replicas.ts'

const by = { actor: 'mia', reason: 'release week' }
const turn = (state: RolloutState, on: boolean, name: 'freeze' | 'no-stream' = 'freeze') =>
  turnSwitch(state, { name, on, by, now: 7 })

describe('a switch', () => {
  test('of a single process outlives a restart, is in history once for each turn, and says who turned it', async () => {
    await using dir = createTempDir()
    const open = () =>
      createEmbeddedState({ replica: createReplica('a', Date.now()), log: silent, path: dir.file('stages.json') })
    const before = open()
    await move(before, { auth: layerAt('canary', 'R1') })
    expect(await turn(before, true)).toBe(true)
    expect(await turn(before, true)).toBe(false)
    const after = open()
    expect(switchedOn(after.known, 'freeze')).toEqual({ ...by, at: 7 })
    expect([isOn(after.known, 'freeze'), isOn(after.known, 'no-stream')]).toEqual([true, false])
    // What moves layers keeps it.
    await move(after, { auth: layerAt('canary', 'R1', { weight: 200 }) })
    await after.trip({ rolloutId: 'R1', gen: 1, layer: 'auth', reason: 'bad' })
    expect(isOn(after.known, 'freeze')).toBe(true)
    expect(await turn(after, false)).toBe(true)
    expect(isOn(after.known, 'freeze')).toBe(false)
    const told = (await after.history(10)).flatMap(({ told, by: who }) => (told ? [{ ...told, ...who }] : []))
    expect(told).toEqual([
      { layer: '*', from: 'moving', to: 'frozen', ...by },
      { layer: '*', from: 'frozen', to: 'moving', ...by },
    ])
  })

  test('that cannot be written down is refused', async () => {
    const state = createEmbeddedState({
      replica: createReplica('a', 1),
      log: silent,
      path: '/nonexistent/folder/stages.json',
    })
    await expect(turn(state, true)).rejects.toThrow('does not answer')
    expect(isOn(state.known, 'freeze')).toBe(false)
  })

  test('among peers is turned by the one that leads, and known to all with who turned it', async () => {
    await using peers = createPeers()
    const [a, b] = (await peers.open(['a', 'b', 'c'])) as unknown as [RolloutState, RolloutState]
    await until(() => a.lead() !== undefined, 'a leads')
    await expect(turn(b, true)).rejects.toThrow('another replica leads')
    // Most have to answer in time; where they do not, it is asked again.
    const turned = (on: boolean) =>
      until(
        async () => {
          await turn(a, on).catch(() => undefined)
          return isOn(a.known, 'freeze') === on
        },
        `a has turned it ${on ? 'on' : 'off'}`,
      )
    await turned(true)
    await until(() => isOn(b.known, 'freeze'), 'b knows')
    expect((await b.history(5)).at(-1)).toMatchObject({ by, told: { layer: '*', from: 'moving', to: 'frozen' } })
    await turned(false)
    await until(() => !isOn(b.known, 'freeze'), 'b knows of the end')
  })
})

describe.skipIf(!redisAvailable)('a switch over Redis', () => {
  test('is turned by any replica, and known to all', async () => {
    await using redis = await startServer()
    await using replicas = createReplicas({ url: redis.url })
    const [a, b] = [await replicas.open('a'), await replicas.open('b')]
    const leader = await leaderOf([a, b])
    const other = leader.lead() && a.lead() ? b : a
    expect(other.lead()).toBeUndefined()
    expect(await turn(other, true, 'no-stream')).toBe(true)
    await until(() => isOn(a.known, 'no-stream') && isOn(b.known, 'no-stream'), 'both know')
    // Whoever leads goes on from there.
    expect(await move(leader, { auth: layerAt('canary', 'R1') })).toBe('done')
    await until(() => b.known.rev === 2 && a.known.rev === 2, 'both know what moved')
    expect([a, b].map(({ known }) => isOn(known, 'no-stream'))).toEqual([true, true])
  })
})
