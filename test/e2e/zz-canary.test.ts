import { it } from 'vitest'
import { allNative, startFoldingRig } from './folding-rig.ts'
it('x', async () => {
  await using rig = await startFoldingRig({ stages: { ...allNative, auth: 'canary' } })
  const r = await rig.chat()
  console.log(r.status, r.headers.get('x-layer-status'), r.headers.get('x-fallback-reason'))
})
