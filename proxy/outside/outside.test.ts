import { writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { configSchema } from '../../config/installed.ts'
import type { GatewayConfig } from '../../config/schema.ts'
import { until } from '../../test/support/gate.ts'
import { createTestHost } from '../../test/support/host.ts'
import { createTempDir } from '../../test/support/temp-dir.ts'
import type { Decided } from '../folding/rollout/controller.ts'
import type { StageChange, Stages } from '../folding/stages.ts'
import { createOutside } from './outside.ts'

const runners = [{ name: 'a', kind: 'openai', url: 'http://127.0.0.1:1' }]
const configOf = (name: string): GatewayConfig =>
  configSchema.parse({
    runners,
    folding: { notify: [{ name, shape: 'slack', url: `http://${name}/` }] },
  })

/** An outside that Slack hears of, over stages of which only what is asked is there. */
async function telling(around: { leads?: boolean; held?: boolean } = {}) {
  const { leads = true, held = false } = around
  const host = createTestHost()
  const heard: string[] = []
  for (const name of ['slack', 'other'])
    host.answers.set(`http://${name}/`, ({ body = '' }) => {
      heard.push(`${name}: ${(JSON.parse(body) as { text: string }).text}`)
      return { status: 200 }
    })
  const outside = createOutside(host)
  const use = async (name: string): Promise<void> => (await outside.prepare(configOf(name), '/'))()
  await use('slack')
  const stages = {
    state: { lead: () => (leads ? { fence: 1 } : undefined), condition: 'up', known: { hold: '' } },
    isHeld: () => held,
    of: () => ({ stage: 'canary', weight: 10 }),
    rollbackAll: async () => ({ changes: [] }),
    holdAll: async () => undefined,
  } as unknown as Stages
  await outside.guard(stages)
  return { outside, heard, host, use }
}

const move = (given: Partial<StageChange> = {}): StageChange => ({
  ...{ at: 0, layer: 'prompt', actor: 'mia', reason: 'r' },
  from: { stage: 'native', weight: 0 },
  to: { stage: 'rolled-back', weight: 0 },
  ...given,
})
const held: Decided = { layer: 'prompt', kind: 'hold', reason: 'inconclusive after 900 calls', gates: [], eject: [] }
const settled = () => new Promise((done) => setImmediate(done))

it('a move is told by the replica that leads, and by no other', async () => {
  const leading = await telling()
  leading.outside.moved(move())
  await settled()
  expect(leading.heard).toEqual(['slack: :warning: prompt was rolled back (foldgate)'])
  const following = await telling({ leads: false })
  following.outside.moved(move())
  await settled()
  expect(following.heard).toEqual([])
})

it.each([
  [
    'a hold',
    { to: { stage: 'canary', weight: 10, held: true }, from: { stage: 'canary', weight: 10 } },
    'is on hold at',
  ],
  ['a promotion', { to: { stage: 'canary', weight: 10 }, from: { stage: 'shadow', weight: 0 } }, 'is canary 10 %'],
  ['being taken along', { to: { stage: 'gateway', weight: 0 } }, 'was rolled back'],
  [
    'a second witness',
    {
      ...{ to: { stage: 'canary', weight: 10, held: true }, from: { stage: 'canary', weight: 10 } },
      reason: 'the second witness disagrees: x',
    },
    'does not agree',
  ],
] as const)('%s is told as what it is', async (_, given, words) => {
  const { outside, heard } = await telling()
  outside.moved(move(given as Partial<StageChange>))
  await settled()
  expect(heard).toEqual([expect.stringContaining(words)])
})

it('a decision to hold is told once, also when its figures change, and not where a person has held the layer', async () => {
  const { outside, heard } = await telling()
  outside.decided(held)
  outside.decided({ ...held, reason: 'inconclusive after 901 calls' })
  await settled()
  expect(heard).toEqual([expect.stringContaining('prompt is on hold at canary 10 %')])
  const person = await telling({ held: true })
  person.outside.decided(held)
  await settled()
  expect(person.heard).toEqual([])
})

it('a rollback that is not confirmed everywhere is told with who is missing', async () => {
  const { outside, host } = await telling()
  outside.unconfirmed(['prompt'], { actor: 'mia', reason: 'r' }, { confirmed: 1, of: 3, missing: ['g2', 'g3'] })
  await settled()
  expect(host.sent[0]?.request.body).toContain('confirmed 1/3; nothing was heard of g2, g3')
})

it('after a reload others are told, and the same settings stay open', async () => {
  const { outside, heard, use } = await telling()
  await use('slack')
  outside.moved(move())
  await use('other')
  outside.moved(move())
  await settled()
  expect(heard.map((each) => each.split(':')[0])).toEqual(['slack', 'other'])
})

it('a panic file that a reload names is looked for, and no more once another reload leaves it out', async () => {
  await using dir = createTempDir()
  writeFileSync(dir.file('panic'), 'fire')
  const { outside } = await telling()
  const use = async (folding: object): Promise<void> =>
    (await outside.prepare(configSchema.parse({ runners, folding }), dir.path))()
  expect(outside.panicking).toBeUndefined()
  await use({ panicFile: 'panic' })
  await until(() => outside.panicking === 'the panic file is there: fire', 'the file is seen')
  await use({})
  await until(() => outside.panicking === undefined, 'the file does not count any more')
})

it('without anything configured a promotion is allowed, and no Deployment is undone', async () => {
  const { outside } = await telling()
  expect(outside.allows({ layer: 'prompt', stage: 'shadow', record: {} as never })).toBe(true)
  expect(await outside.undo({ actor: 'mia', reason: 'r' })).toMatchObject({ done: false })
})
