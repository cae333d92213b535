import { expect, test } from 'vitest'
import { storeSchema } from '../../../config/store.ts'
import { createKeyRing } from '../../../plugins/jws-key.ts'
import { freePort } from '../../../test/support/ports.ts'
import { openRolloutState } from './open.ts'
import { createReplica } from './replica.ts'
import { silent } from './test-documents.ts'
import { peerKey } from './test-peers.ts'

const parts = { replica: createReplica('a', Date.now()), log: silent }
const keys = { key: peerKey, ring: createKeyRing([peerKey]) }
const send = async () => ({ status: 503, body: '' })
const peersOf = (peers: readonly string[]) => ({ peers, port: 1, keys, send })

test('a process without Redis and without others keeps the state by itself', async () => {
  const state = await openRolloutState({ ...parts, store: storeSchema.parse({}), peers: peersOf([]) })
  expect([state.lead(), state.receive, state.condition]).toEqual([{ fence: 1 }, undefined, 'up'])
})

test('one with others keeps it with them, and does not lead alone', async () => {
  const state = await openRolloutState({ ...parts, store: storeSchema.parse({}), peers: peersOf(['127.0.0.2']) })
  expect([state.lead(), typeof state.receive]).toEqual([undefined, 'function'])
  await state.close()
})

test('one with Redis keeps it there, also while that cannot be reached', async () => {
  const store = storeSchema.parse({
    kind: 'redis',
    url: `redis://127.0.0.1:${await freePort()}`,
    connectTimeoutMs: 200,
  })
  const state = await openRolloutState({ ...parts, store, peers: peersOf(['127.0.0.2']) })
  expect([state.lead(), state.receive]).toEqual([undefined, undefined])
  expect(state.condition).toHaveProperty('lostForMs')
  await state.close()
})
