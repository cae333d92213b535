import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { until } from '../../test/support/gate.ts'
import { startProcess } from '../../test/support/processes.ts'
import { createTempDir } from '../../test/support/temp-dir.ts'
import { startFoldedPair } from '../test-folded.ts'
import { entry, foldgateHere, nobody, startFakeGateway } from './test-command.ts'

test('a layer that moves is shown with its share, gates, fuses and decision; nothing while none moves', {
  timeout: 60_000,
}, async () => {
  await using pair = await startFoldedPair()
  const run = (...args: string[]) => foldgateHere(['evidence', ...args, '--admin', pair.gateway.adminUrl])
  expect(await run()).toMatchObject({ code: 0, out: 'no layer is in shadow or canary\n' })
  for (const verb of ['shadow', 'canary'])
    await foldgateHere([verb, 'postprocess', '--reason', 'a test', '--admin', pair.gateway.adminUrl])
  await pair.chat('hello')
  await until(
    async () => (await run('postprocess')).out.includes('step     S1'),
    () => 'the canary is judged',
  )
  const { code, out } = await run('postprocess')
  expect(code).toBe(0)
  expect(out).toMatch(/^layer +postprocess\nstep +S1 since \d{4}-\S+Z\nshare +/)
  expect(out).toMatch(/^calls +\d+ canary \(0 bad\), \d+ control \(0 bad\)$/m)
  expect(out).toMatch(/^fuses +none blown\ndecision +continue at \S+Z: open: calls, /m)
  expect(out).toMatch(/^GATE +VALUE +MUST BE +SEEN +NEEDS +MET$/m)
  expect(out).toMatch(/^calls +\d+ +at least \d+ +\d+ +– +no$/m)
  expect((await run('-o', 'name')).out).toBe('postprocess\n')
  const { layers } = JSON.parse((await run('-o', 'json')).out) as { layers: { postprocess: { evidence: object } } }
  expect(layers.postprocess.evidence).toMatchObject({ step: 'S1', layer: 'postprocess' })
  expect(await run('nope')).toMatchObject({ code: 1, err: expect.stringContaining('"nope" is not configured') })
})

test('the Deployment is undone through the first admin port, and the words of the cluster are said', async () => {
  const [first, second] = [await startFakeGateway(), await startFakeGateway()]
  const admins = ['--admin', first.url, '--admin', second.url]
  const asked = ['rollback', '--all', '--kubernetes', '--reason', 'r']
  expect(await foldgateHere([...asked, ...admins])).toMatchObject({ code: 0, err: expect.stringContaining('undone\n') })
  const lost = await foldgateHere([...asked, '--admin', nobody])
  expect(lost).toMatchObject({
    code: 3,
    err: expect.stringContaining('whether the Deployment was undone is not known'),
  })
})

test('SIGUSR2 brings the layers of a process back, and it goes on serving', { timeout: 60_000 }, async () => {
  await using pair = await startFoldedPair()
  await using dir = createTempDir()
  const file = dir.file('gateway.json')
  const own = {
    listen: { port: 0 },
    admin: { port: 0 },
    ...pair.sections,
    folding: { stages: { postprocess: 'native' }, stateFile: null },
  }
  writeFileSync(file, JSON.stringify(own))
  await using child = await startProcess({ args: [entry, 'serve', file], ready: /"admin":"(http:[^"]+)"/ })
  const admin = child.readyMatch[1] as string
  const stage = async (): Promise<string> => {
    const { layers } = (await (await fetch(`${admin}/-/layers`)).json()) as {
      layers: { name: string; stage: string }[]
    }
    return layers.find(({ name }) => name === 'postprocess')?.stage ?? ''
  }
  expect(await stage()).toBe('native')
  child.signal('SIGUSR2')
  await until(
    async () => (await stage()) === 'rolled-back',
    () => 'postprocess is back',
  )
  child.signal('SIGTERM')
  expect(await child.exit).toEqual({ code: 0, signal: null })
})
