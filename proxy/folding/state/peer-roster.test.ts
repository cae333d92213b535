import { describe, expect, test } from 'vitest'
import { createRoster } from './peer-roster.ts'
import { createManualTimers } from './test-timers.ts'

/** A roster over names that a test answers for. */
function rosterOf(peers: readonly string[], names: Record<string, string[] | Error>) {
  const timers = createManualTimers()
  const resolve = async (name: string) => {
    const found = names[name] ?? []
    if (found instanceof Error) throw found
    return found
  }
  const self = { id: 'a', boot: '1' }
  return { timers, names, roster: createRoster({ peers, port: 9901, self, timers, resolve }) }
}

describe('who the other replicas are', () => {
  test('comes from one name with the addresses of all, this one among them', async () => {
    const { roster } = rosterOf(['gw'], { gw: ['10.0.0.1', '10.0.0.2', 'fd00::3'] })
    await roster.refresh()
    expect(roster.addresses()).toEqual(['10.0.0.1:9901', '10.0.0.2:9901', '[fd00::3]:9901'])
    // Not known yet to be this one, so it is counted as another.
    expect(roster.size()).toBe(4)
    roster.heard({ id: 'a', boot: '1' }, '10.0.0.1:9901')
    expect([roster.size(), roster.addresses().length]).toEqual([3, 2])
    // One replica with two addresses is one.
    roster.heard({ id: 'b', boot: '1' }, '10.0.0.2:9901')
    roster.heard({ id: 'b', boot: '1' }, '[fd00::3]:9901')
    expect(roster.size()).toBe(2)
  })

  test('is not fewer because the names are gone: a split must not make a whole for ten minutes', async () => {
    const { roster, names, timers } = rosterOf(['gw'], { gw: ['10.0.0.1', '10.0.0.2', '10.0.0.3'] })
    await roster.refresh()
    roster.heard({ id: 'a', boot: '1' }, '10.0.0.1:9901')
    names['gw'] = ['10.0.0.1']
    await roster.refresh()
    expect([roster.addresses(), roster.size()]).toEqual([[], 3])
    await timers.advance(600_001)
    await roster.refresh()
    expect(roster.size()).toBe(1)
  })

  test('stays as it was while nobody can be asked', async () => {
    const { roster, names } = rosterOf(['gw'], { gw: ['10.0.0.1', '10.0.0.2'] })
    await roster.refresh()
    names['gw'] = new Error('the resolver is away')
    await roster.refresh()
    expect(roster.addresses()).toHaveLength(2)
  })

  test('counts a name that was never found as one who is not there', async () => {
    const { roster } = rosterOf(['b:1234', 'c', '10.0.0.9'], { b: ['10.0.0.2'] })
    await roster.refresh()
    expect(roster.addresses().toSorted()).toEqual(['10.0.0.2:1234', '10.0.0.9:9901'])
    expect(roster.size()).toBe(4)
  })

  test('tells who was heard, and for how long that counts', async () => {
    const { roster, timers } = rosterOf([], {})
    roster.heard({ id: 'b', boot: '1' })
    roster.heard({ id: 'a', boot: '1' })
    await timers.advance(500)
    expect([roster.alive(500), roster.alive(499)]).toEqual([['b'], []])
  })
})
