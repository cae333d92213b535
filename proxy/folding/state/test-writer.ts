import { createEmbeddedState } from './embedded.ts'
import { createReplica } from './replica.ts'
import { layerAt, move, silent } from './test-documents.ts'

// Changes the state as fast as it goes, and says each revision that is done.
const path = process.argv[2] as string
const state = createEmbeddedState({ replica: createReplica('a', Date.now()), log: silent, path })
for (;;) {
  const { rev } = state.known
  await move(state, { auth: layerAt('canary', `R${rev}`, { gen: rev + 1, reason: 'x'.repeat((rev * 997) % 5_000) }) })
  if (rev % 3 === 0) await state.trip({ rolloutId: `R${rev}`, gen: 1, layer: 'auth', reason: 'bad' })
  await new Promise<void>((done) => process.stdout.write(`rev ${state.known.rev}\n`, () => done()))
}
