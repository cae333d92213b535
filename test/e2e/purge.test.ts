import { expect, it } from 'vitest'
import { foldgateHere } from '../../proxy/cli/test-command.ts'
import { allNative, type FoldingRig, startFoldingRig } from './folding-rig.ts'

/** What the cache says of the same question, asked once more. */
async function asked(rig: FoldingRig): Promise<string> {
  const response = await rig.chat({ temperature: 0 })
  expect(response.status).toBe(200)
  await response.text()
  return response.headers.get('cache-status') ?? ''
}

const purge = (rig: FoldingRig, ...args: string[]) =>
  foldgateHere(['purge', ...args, '--reason', 'wrong prices', '--admin', rig.gateway.adminUrl])

it('stored answers are forgotten by command: those that fit, and others stay', async () => {
  await using rig = await startFoldingRig({ stages: {} })
  await asked(rig)
  expect(await asked(rig)).toMatch(/; ?hit/)
  expect((await purge(rig, '--tenant', 'somebody else')).out).toMatch(/ purged, 0 counted, on this replica\n$/)
  expect(await asked(rig)).toMatch(/; ?hit/)
  const done = await purge(rig, '--route', 'chat')
  expect(done).toMatchObject({ code: 0, err: '' })
  expect(done.out).toMatch(/ purged, 1 counted/)
  expect(await asked(rig)).not.toMatch(/; ?hit/)
})

it('a runner that keeps the answers passes over them from its next call on', async () => {
  await using rig = await startFoldingRig({ stages: allNative })
  await asked(rig)
  expect(await asked(rig)).toMatch(/; ?hit/)
  await purge(rig, '--route', 'messages')
  expect(await asked(rig)).toMatch(/; ?hit/)
  const done = await purge(rig, '--tenant', 't1', '--route', 'chat')
  expect(done).toMatchObject({ code: 0, err: '' })
  expect(done.out).toMatch(/, and the runner with its next call\n$/)
  expect(await asked(rig)).not.toMatch(/; ?hit/)
  // What was made since then is kept.
  expect(await asked(rig)).toMatch(/; ?hit/)
})

it('what is to be purged must be said, and why', async () => {
  await using rig = await startFoldingRig({ stages: {} })
  const post = (body: object) =>
    fetch(`${rig.gateway.adminUrl}/-/cache/purge`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  for (const body of [{ all: true }, { reason: 'x' }, { reason: 'x', route: 'nowhere' }, { reason: ' ', all: true }])
    expect((await post(body)).status).toBe(400)
  expect((await post({ reason: 'x', all: true })).status).toBe(200)
})

it('without a cache there is nothing to purge', async () => {
  await using rig = await startFoldingRig({ stages: {}, layers: { cache: undefined } })
  const { code, err } = await purge(rig, '--all')
  expect(code).toBe(1)
  expect(err).toContain('the cache is not configured')
})
