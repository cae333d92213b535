import { expect, test } from 'vitest'
import { startFoldedPair } from '../test-folded.ts'
import { foldgate, foldgateHere, nobody, startFakeGateway } from './test-command.ts'

test('postprocess goes the whole way to the runner and back by command, and each look says the truth', {
  timeout: 60_000,
}, async () => {
  await using pair = await startFoldedPair()
  const admin = pair.gateway.adminUrl
  const run = (...args: string[]) => foldgateHere([...args, '--admin', admin])
  const move = (verb: string) => run(verb, 'postprocess', '--reason', 'a test')

  const shadow = await move('shadow')
  expect(shadow).toMatchObject({ code: 0, err: '' })
  expect(shadow.out).toMatch(/^ADMIN +LAYER +FROM +TO\nhttp:\S+ +postprocess +gateway +shadow\n$/)
  await pair.chat('write to joe@example.com', { 'x-request-id': 'in-shadow' })
  const watched = (await run('explain', 'in-shadow')).out
  expect(watched).toMatch(/^folded +sent with a context once, acknowledged by b_/m)
  expect(watched).toMatch(/^policy +[0-9a-f]{64}$/m)
  expect(watched).toMatch(/^postprocess +shadow +observe +(pass|ok) +\d+ µs +\S+== +–$/m)

  expect((await move('canary')).out).toMatch(/shadow +canary 1 %\n$/)
  for (const step of ['10 %', '50 %', '100 %']) {
    expect((await move('promote')).out).toContain(`canary ${step}`)
  }
  expect((await run('layers')).out).toMatch(/^postprocess +canary 100 % +gateway\+runner +evaporation-accelerating$/m)
  expect((await move('promote')).out).toMatch(/canary 100 % +native\n$/)
  const well = await run('status', '-o', 'wide')
  expect(well.code).toBe(0)
  expect(well.out).toMatch(/^process +gpu-a 127\.0\.0\.1:\d+ reached, in-engine echo \S+, state local, .* boot b_/m)
  expect(well.out).toMatch(/^postprocess +native +runner +evaporation-complete +1\/1 able +[0-9a-f]{12} /m)
  const layer = (await run('explain', 'postprocess')).out
  expect(layer).toMatch(/^where +runner, printed as evaporation-complete$/m)
  expect(layer).toMatch(/^policy +chat [0-9a-f]{64} \d+ bytes$/m)
  expect(layer).toMatch(/^process +gpu-a \S+ can act; its rule is compiled$/m)

  const back = await run('rollback', 'postprocess', '--reason', 'enough')
  expect(back).toMatchObject({ code: 0, err: '' })
  expect(back.out).toMatch(/postprocess +native +rolled-back\nconfirmed 1\/1\n$/)
  expect((await run('status')).code).toBe(3)
  const history = (await run('history')).out.trimEnd().split('\n')
  expect(history).toHaveLength(8)
  expect(history.at(-1)).toMatch(/^\d{4}-\S+Z +postprocess +native +rolled-back +\S+ +enough$/)
})

test('a rollback that one replica does not confirm ends with 3 and names it', async () => {
  await using pair = await startFoldedPair({ stages: { postprocess: 'native' } })
  const admin = pair.gateway.adminUrl
  const both = ['--reason', 'incident 7', '--admin', admin, '--admin', nobody]
  const { code, out, err } = await foldgate(['rollback', '--all', ...both])
  expect(code).toBe(3)
  expect(out).toMatch(/postprocess +native +rolled-back\nconfirmed 1\/2\n$/)
  expect(err).toContain(`not confirmed: ${nobody}`)
  expect(err).not.toContain(`not confirmed: ${admin}`)
  const again = await foldgateHere(['rollback', 'postprocess', ...both, '-o', 'json'])
  expect(again.code).toBe(3)
  expect(again.err).toContain('confirmed 1/2')
  expect(JSON.parse(again.out)).toMatchObject([
    { admin, confirmed: true, changes: [] },
    { admin: nobody, confirmed: false, why: expect.stringContaining('nothing listens there') },
  ])
})

test('a change that a replica refuses is said with why, and the others make theirs', async () => {
  const fake = await startFakeGateway()
  await using pair = await startFoldedPair()
  const admins = ['--admin', pair.gateway.adminUrl, '--admin', fake.url]
  const { code, out, err } = await foldgateHere([
    'canary',
    'postprocess',
    '--reason',
    'too soon',
    ...admins,
    '-o',
    'name',
  ])
  expect(code).toBe(1)
  expect(out).toBe(`${fake.url}\n`)
  expect(err).toContain(`${pair.gateway.adminUrl}: postprocess is gateway; a canary begins from shadow`)
  expect(fake.gateway.told).toEqual([expect.stringMatching(/^canary postprocess \S+ too soon$/)])
})
