import { describe, expect, test } from 'vitest'
import { prompt } from './index.ts'
import { ask, openRig } from './test-rig.ts'

const support = { text: 'You serve {{ tenant }}.', version: '3' }

describe('templates', () => {
  test('the only template is set before what the caller says, and is named in the facts', async () => {
    const rig = await openRig({ templates: { support } })
    const { sent, facts } = await rig.run(ask())
    expect(sent[0]?.messages).toEqual([
      { role: 'system', content: 'You serve t1.' },
      { role: 'user', content: 'hello' },
    ])
    expect(facts.template).toEqual({ name: 'support', version: '3', digest: expect.stringMatching(/^[0-9a-f]{64}$/) })
  })
  test('without anything to say the bytes go by untouched', async () => {
    const rig = await openRig({})
    expect(await rig.acting.decide?.(ask(), 'enforce')).toEqual({ kind: 'pass', facts: {} })
  })
  test("it joins the caller's instructions, keeping a developer role and content parts", async () => {
    const rig = await openRig({ templates: { support } })
    const parts = [{ type: 'text', text: 'Be kind.', cache_control: { type: 'ephemeral' } }]
    const call = ask({
      messages: [
        { role: 'developer', content: parts },
        { role: 'user', content: 'hi' },
      ],
    })
    const before = JSON.stringify(call.request)
    expect(await rig.messages(call)).toEqual([
      { role: 'developer', content: [{ type: 'text', text: 'You serve t1.\n\n' }, ...parts] },
      { role: 'user', content: 'hi' },
    ])
    expect(JSON.stringify(call.request)).toBe(before)
  })
  test.each([
    ['before', ['You serve t1.\n\nMine.', 'hi']],
    ['after', ['Mine.\n\nYou serve t1.', 'hi']],
    ['replace', ['You serve t1.', 'hi']],
  ])('position %s', async (position, contents) => {
    const rig = await openRig({ templates: { support: { ...support, position } } })
    const call = ask({
      messages: [
        { role: 'system', content: 'Mine.' },
        { role: 'user', content: 'hi' },
      ],
    })
    expect((await rig.messages(call))?.map((each) => each.content)).toEqual(contents)
  })
  test('a missing variable is a 400 that names it', async () => {
    const rig = await openRig({ templates: { support: { text: 'For {{ department }}.' } } })
    await expect(rig.run(ask())).rejects.toMatchObject({
      code: 'missing_variable',
      status: 400,
      detail: { field: 'department' },
    })
    expect((await rig.messages(ask({}, { claims: { department: 'sales' } })))?.[0]?.content).toBe('For sales.')
    expect(rig.host.lines).toMatchObject([{ level: 'warn', fields: { names: ['department'] } }])
  })
  test('values come from the operator, then facts, then claims; the body only by a declared path', async () => {
    const rig = await openRig({
      templates: { a: { text: '{{ company }} {{ user_id }} {{ claims.tenant }} {{ locale }} {{ facts.model }}' } },
      variables: { company: 'Acme', locale: 'en' },
      paths: { locale: 'body.metadata.locale' },
    })
    const claims = { tenant: 'other', company: 'Evil' }
    const first = async (body: object) => (await rig.messages(ask(body, { claims, target: 'large' })))?.[0]?.content
    expect(await first({ metadata: { locale: '{{company}}' } })).toBe('Acme u1 other {{company}} large')
    expect(await first({ metadata: { company: 'Evil' }, company: 'Evil' })).toBe('Acme u1 other en large')
  })
  test('an empty tier is no tier', async () => {
    const rig = await openRig({ templates: { a: { text: '{{#if tier}}{{tier}}{{else}}nobody{{/if}}' } } })
    expect((await rig.messages(ask({}, { tier: '' })))?.[0]?.content).toBe('nobody')
  })
})

describe('clocks', () => {
  const text = '{{now_utc}} {{today_utc}} {{time_utc}} {{weekday_utc}} {{year_utc}} {{now_unix}}'
  const first = async (config: object, now: number) =>
    (await (await openRig({ templates: { a: { text } }, ...config })).messages(ask({}, { now })))?.[0]?.content
  const half = Date.UTC(2026, 0, 4, 23, 59, 59, 999)
  test("they show the call's instant rounded down to the hour, in UTC", async () => {
    expect(await first({}, half)).toBe('2026-01-04T23:00:00Z 2026-01-04 23:00 Sunday 2026 1767567600')
    expect(await first({}, half - 59 * 60_000)).toBe(await first({}, half))
    expect(await first({}, half + 1)).not.toBe(await first({}, half))
  })
  test('another granularity, or none', async () => {
    expect(await first({ clock: { granularityMs: 86_400_000 } }, half)).toContain('T00:00:00Z')
    expect(await first({ enable_determinism: false }, half)).toContain('T23:59:59Z')
  })
})

describe('selection', () => {
  const config = {
    templates: {
      plain: { text: 'plain' },
      gold: { text: 'gold 2', version: '2', versions: { '1': { text: 'gold 1' } } },
      tiny: { file: 'tiny.txt' },
    },
    default: 'plain',
    use: [
      { template: 'tiny', when: { model: ['nano', 'small'], tier: 'trial' } },
      { template: 'gold', version: '1', when: { tenant: 'pinned' } },
      { template: 'gold', when: { tier: ['vip', 'pro'] } },
    ],
  }
  const files = { 'tiny.txt': 'tiny\n' }
  test('the first rule that matches tier, tenant and the model that answers counts', async () => {
    const rig = await openRig(config, { files })
    const first = async (asking: object) => (await rig.messages(ask({}, asking)))?.[0]?.content
    expect(await first({ tier: 'free' })).toBe('plain')
    expect(await first({ tier: 'pro' })).toBe('gold 2')
    expect(await first({ tier: 'vip', tenant: 'pinned' })).toBe('gold 1')
    expect(await first({ tier: 'trial' })).toBe('tiny')
    expect(await first({ tier: 'trial', target: 'large' })).toBe('plain')
  })
  test('decorators of a tier stand around instructions and the last user message', async () => {
    const rig = await openRig({
      decorators: [
        { role: 'system', position: 'prepend', text: 'A {{tier}}' },
        { role: 'system', position: 'append', text: 'Z' },
        { role: 'user', position: 'prepend', text: '<', when: { tier: 'vip' } },
        { role: 'user', position: 'append', text: '>' },
      ],
    })
    const messages = [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'two' },
      { role: 'user', content: 'three' },
    ]
    const contents = async (tier: string) =>
      (await rig.messages(ask({ messages }, { tier })))?.map((each) => each.content)
    expect(await contents('vip')).toEqual(['A vip\n\nZ', 'one', 'two', '<\n\nthree\n\n>'])
    expect(await contents('free')).toEqual(['A free\n\nZ', 'one', 'two', 'three\n\n>'])
  })
})

describe('configuration', () => {
  const faultsOf = async (config: object): Promise<string[]> => {
    try {
      await openRig(config)
    } catch (error) {
      return (error as { detail: { faults: { path: string }[] } }).detail.faults.map((each) => each.path)
    }
    return []
  }
  test('every fault across fields is named at once', async () => {
    const templates = {
      both: { text: 'a', file: 'b' },
      gone: { file: 'gone.txt' },
      open: { text: '{{#if a}}' },
      old: { text: 'x', version: '2', versions: { '2': { text: 'y' }, '1': {} } },
    }
    const config = {
      templates,
      default: 'nope',
      use: [{ template: 'none' }, { template: 'old', version: '9' }],
      variables: { now_utc: 1, 'a b': 2 },
      paths: { x: '..' },
      decorators: [{ role: 'user', position: 'append', text: '{{' }],
      context: { strategy: 'summarise' },
    }
    expect((await faultsOf(config)).toSorted()).toEqual(
      [
        'templates.both',
        'templates.gone.file',
        'templates.open.text',
        'templates.old.versions.2',
        'templates.old.versions.1',
        'decorators[0].text',
        'paths.x',
        'default',
        'use[0].template',
        'use[1].version',
        'variables.now_utc',
        'variables.a b',
        'context.summary',
      ].toSorted(),
    )
  })
  test('a summary by a runner that there is not is a fault', async () => {
    expect(await faultsOf({ context: { summary: { runner: 'x', model: 'm' } } })).toEqual(['context.summary.runner'])
  })
  test('unknown keys and values out of range are refused with their path', () => {
    expect(prompt.config.faults({ template: {} })).toMatchObject([{ path: 'template' }])
    expect(prompt.config.faults({ clock: { granularityMs: 0 } })).toMatchObject([{ path: 'clock.granularityMs' }])
    expect(prompt.config.faults({ adaptations: { anchor: { maxLines: 0 } } })).toMatchObject([
      { path: 'adaptations.anchor.maxLines' },
    ])
    expect(prompt.config.faults({ templates: { a: { role: 'user' } } })).toMatchObject([{ path: 'templates.a.role' }])
  })
})
