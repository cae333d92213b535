import { describe, expect, test } from 'vitest'
import { createKeyRing, createSigningKey } from '../../../plugins/jws-key.ts'
import { until } from '../../../test/support/gate.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { createPeerSeal } from './peer-seal.ts'
import { createReplica } from './replica.ts'
import type { RolloutState } from './state.ts'
import { layerAt, move, recordingLog, shares } from './test-documents.ts'
import { createPeers, peerKey, type TestPeer } from './test-peers.ts'

const tripOf = (rolloutId: string) => ({ rolloutId, gen: 1, layer: 'auth', reason: 'bad' })
const shareOf = (state: RolloutState, id: string) => shares(state.known)[id]
const leads = (peer: RolloutState) => peer.lead() !== undefined
const leading = (all: readonly TestPeer[]) => all.filter(leads).map(({ id }) => id)
const led = (peer: TestPeer) => until(() => leads(peer), `${peer.id} leads`)
const three = async (peers: ReturnType<typeof createPeers>) =>
  (await peers.open(['a', 'b', 'c'])) as [TestPeer, TestPeer, TestPeer]

describe('replicas among themselves', { timeout: 20_000 }, () => {
  test('are led by the first by name, and what it moves is known to all', async () => {
    await using peers = createPeers()
    const all = await three(peers)
    const [a, b, c] = all
    await led(a)
    expect(leading(all)).toEqual(['a'])
    expect(await move(a, { auth: layerAt('canary', 'R1', { weight: 500 }) }, { evidence: { n: 1 } })).toBe('done')
    await until(() => shareOf(b, 'R1') === 500 && shareOf(c, 'R1') === 500, 'all know')
    expect(a.known).toEqual(b.known)
    expect(await a.history(5)).toMatchObject([{ rev: 1, kind: 'transition', evidence: { n: 1 } }])
    expect(await c.history(5)).toMatchObject([{ rev: 1, kind: 'transition', by: { actor: 'test' } }])
    expect(await move(a, { auth: layerAt('canary', 'R1') }, { expectedRev: 0 })).toBe('stale')
    expect(await move(a, { cache: layerAt('shadow', 'R2') })).toBe('second-layer')
    expect(await move(b, { auth: layerAt('canary', 'R1') }, { fence: 1 })).toBe('fenced')
  })

  test('any of them trips, at once, and all confirm', async () => {
    await using peers = createPeers()
    const [a, b, c] = await three(peers)
    await led(a)
    await move(a, { auth: layerAt('canary', 'R1') })
    await until(() => shareOf(c, 'R1') === 100, 'c knows')
    const outcome = c.trip(tripOf('R1'))
    expect(shareOf(c, 'R1')).toBe(0)
    expect(await outcome).toEqual({ confirmed: 3, of: 3, missing: [] })
    expect([a, b].map((state) => shareOf(state, 'R1'))).toEqual([0, 0])
    expect(await move(a, { auth: layerAt('canary', 'R1') })).toBe('tripped')
    expect(await b.history(5)).toMatchObject([{ kind: 'transition' }, { kind: 'trip', by: { actor: 'replica c' } }])
  })

  test('one that is cut off cannot promote, still trips, and its trip arrives when the way is back', async () => {
    await using peers = createPeers()
    const all = await three(peers)
    const [a, b, c] = all
    await led(a)
    await move(a, { auth: layerAt('canary', 'R1') })
    const { fence = 0 } = a.lead() ?? {}
    peers.split(['a'], ['b', 'c'])
    // Before it has noticed anything: most have to agree, and nobody can be asked.
    expect(await move(a, { auth: layerAt('canary', 'R1', { weight: 9_000 }) })).toBe('unavailable')
    expect(shareOf(a, 'R1')).toBe(100)
    await led(b)
    expect(leading(all)).toEqual(['b'])
    expect(await move(b, { auth: layerAt('canary', 'R1', { weight: 200 }) })).toBe('done')
    expect(await move(a, { auth: layerAt('canary', 'R1', { weight: 9_000 }) }, { fence })).toBe('fenced')
    await until(() => typeof a.condition !== 'string', 'a knows that it is alone')
    expect(await a.trip(tripOf('R1'))).toEqual({ confirmed: 1, of: 3, missing: ['b', 'c'] })
    expect(shareOf(b, 'R1')).toBe(200)
    peers.heal()
    await until(() => shareOf(b, 'R1') === 0 && shareOf(c, 'R1') === 0, 'all know')
    await until(() => leading(all).join() === 'a', 'a leads again')
    expect(a.known.rev).toBe(2)
    expect(a.known).toEqual(b.known)
  })

  test('a change that reached some before the leader was cut off is decided by the next one, whole, or is void', async () => {
    await using peers = createPeers()
    const all = await three(peers)
    const [a, b, c] = all
    await led(a)
    await move(a, { auth: layerAt('canary', 'R1') })
    await until(() => b.known.rev === 1 && c.known.rev === 1, 'all know')
    peers.split(['a'], ['b', 'c'])
    const change = move(a, { auth: layerAt('canary', 'R1', { weight: 9_000 }) })
    expect(await change).toBe('unavailable')
    peers.heal()
    await until(
      () => leading(all).length === 1 && b.known.rev === a.known.rev && c.known.rev === a.known.rev,
      'all agree',
    )
    expect(a.known).toEqual(b.known)
    const [leader] = all.filter(leads) as [TestPeer]
    expect(await move(leader, { auth: layerAt('canary', 'R1', { weight: 300 }) })).toBe('done')
    await until(() => all.every((peer) => shareOf(peer, 'R1') === 300), 'all know')
  })

  test('a trip goes on from those who heard it when its author is gone', async () => {
    await using peers = createPeers()
    const [a, b, c] = await three(peers)
    await led(a)
    await move(a, { auth: layerAt('canary', 'R1') })
    await until(() => shareOf(b, 'R1') === 100 && shareOf(c, 'R1') === 100, 'all know')
    peers.split(['b'], ['c'])
    expect((await c.trip(tripOf('R1'))).missing).toEqual(['b'])
    await c.close()
    await until(() => shareOf(a, 'R1') === 0 && shareOf(b, 'R1') === 0, 'b hears of it from a')
  })

  test('a trip gets through where only one direction is open', async () => {
    await using peers = createPeers()
    const [a, b, c] = await three(peers)
    await led(a)
    await move(a, { auth: layerAt('canary', 'R1') })
    await until(() => shareOf(c, 'R1') === 100, 'c knows')
    peers.mute(['c'], ['a', 'b'])
    expect((await c.trip(tripOf('R1'))).confirmed).toBe(1)
    await until(() => shareOf(a, 'R1') === 0 && shareOf(b, 'R1') === 0, 'they ask and hear of it')
  })

  test('counters reach everybody, by process, and telling twice changes nothing', async () => {
    await using peers = createPeers()
    const all = await three(peers)
    for (const [index, peer] of all.entries()) {
      peer.publish('R1', 'S1', { n: 1 })
      peer.publish('R1', 'S1', { n: 10 ** index })
    }
    const sum = async (peer: TestPeer) =>
      (await peer.collect('R1', 'S1')).reduce((total, { counters }) => total + Number(counters['n']), 0)
    await until(async () => (await Promise.all(all.map(sum))).every((total) => total === 111), 'all are told')
    for (const { to, body } of peers.sent.slice(-20)) await fetch(`http://${to}/-/peers`, { method: 'POST', body })
    expect(await sum(all[0])).toBe(111)
  })

  test('what a replica promised and what was taken back outlive it', async () => {
    await using peers = createPeers()
    await using dir = createTempDir()
    const [a] = (await peers.open(['a'], { path: dir.file('stages.json') })) as [TestPeer]
    await led(a)
    const { fence = 0 } = a.lead() ?? {}
    await move(a, { auth: layerAt('canary', 'R1') })
    await a.trip(tripOf('R1'))
    await a.close()
    const [again] = (await peers.open(['a'], { path: dir.file('stages.json') })) as [TestPeer]
    expect(again.known).toEqual(a.known)
    await led(again)
    expect(again.lead()?.fence).toBeGreaterThan(fence)
    expect(await move(again, { auth: layerAt('canary', 'R1') })).toBe('tripped')
  })

  test('two replicas with one name are said in the log', async () => {
    await using peers = createPeers()
    const log = recordingLog()
    await peers.open(['a', 'a'], { log })
    await until(() => log.lines.some((line) => line.includes('two replicas have one name')), 'it is said')
  })

  test('nothing is taken from who has no key, twice, for another gateway, from another time, or in another form', async () => {
    await using peers = createPeers()
    const [a] = (await peers.open(['a'])) as [TestPeer]
    const now = Date.now()
    const self = createReplica('x', now)
    const message = { kind: 'tell', rev: 0, trips: {}, digest: '', counts: [] }
    const sealed = (key = peerKey, audience = 'foldgate', at = now, content: object = message) =>
      JSON.stringify(createPeerSeal({ key, ring: createKeyRing([key]), audience }, self, () => at).seal(content))
    const other = createSigningKey({ kid: 'k1', alg: 'HS256', secret: Buffer.alloc(32, 8) })
    const good = sealed()
    const statuses = []
    for (const body of [
      good,
      good,
      sealed(other),
      sealed(peerKey, 'staging'),
      sealed(peerKey, 'foldgate', now - 400_000),
      sealed(peerKey, 'foldgate', now + 400_000),
      sealed(peerKey, 'foldgate', now, { ...message, rev: -1 }),
      '{"token":1}',
      'x',
    ])
      statuses.push((await a.receive(body)).status)
    expect(statuses).toEqual([200, 401, 401, 401, 401, 401, 400, 400, 400])
    // Clocks that are a few minutes apart keep nobody from tripping.
    expect((await a.receive(sealed(peerKey, 'foldgate', now - 290_000))).status).toBe(200)
  })
})
