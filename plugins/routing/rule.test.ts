import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { routingConfig } from './config.ts'
import { candidatesFor, place, type RoutingQuestion, routingRuleFor } from './rule.ts'

const up = { available: true, retryAfterMs: 0, outstandingTokens: 0 }
const parse = (targets: object[]) => routingConfig.parse({ targets })

function ask(targets: object[], change: Partial<RoutingQuestion> & { tier?: string } = {}): ReturnType<typeof place> {
  const { tier = '', model = 'auto', ...rest } = change
  const config = parse(targets)
  return place({
    candidates: candidatesFor(config, model, tier),
    model,
    inputTokens: 100,
    budgetTokens: 200,
    owed: targets.map(() => 0),
    fleet: targets.map(() => 0),
    runners: targets.map(() => up),
    largest: false,
    sticky: { index: undefined, overdraftTokens: 0 },
    ...rest,
  })
}

const orderOf = (placement: ReturnType<typeof place>): number[] | string =>
  placement.kind === 'order' ? placement.order.map((each) => each.index) : placement.code

const big = { runner: 'a', model: 'big', weight: 7, aliases: ['chat'] }
const small = { runner: 'b', model: 'small', weight: 3, aliases: ['chat'] }

describe('which targets serve a name', () => {
  test('a model name reaches its targets, an alias all that carry it, the default every one', () => {
    const config = parse([big, small])
    const names = (model: string) => candidatesFor(config, model, '').map((each) => [each.index, each.share])
    expect(names('small')).toEqual([[1, 1]])
    expect(names('chat')).toEqual([
      [0, 0.7],
      [1, 0.3],
    ])
    expect(names('auto')).toHaveLength(2)
  })
  test('any other name is refused, naming the field', () => {
    const refused = ask([big, small], { model: 'gpt-5' })
    expect(refused).toMatchObject({ kind: 'refuse', code: 'model_not_found', detail: { field: 'model' } })
  })
  test('names of inherited members are no tiers and no models', () => {
    expect(candidatesFor(parse([big]), 'constructor', 'toString')).toEqual([])
    expect(candidatesFor(parse([big]), 'big', 'constructor')).toHaveLength(1)
  })
  test('weight 0 is never chosen, not even when everything else is down', () => {
    const runners = [{ ...up, available: false, retryAfterMs: 1500 }, up]
    expect(ask([big, { ...small, weight: 0 }], { runners })).toMatchObject({
      code: 'runner_unreachable',
      detail: { retryAfterMs: 1500 },
    })
  })
  test('a tier sees its own targets and weights', () => {
    const targets = [
      { ...big, tiers: ['vip'] },
      { ...small, tier_weights: { vip: 1 } },
    ]
    expect(orderOf(ask(targets, { model: 'big', tier: 'free' }))).toBe('model_not_found')
    expect(candidatesFor(parse(targets), 'chat', 'vip').map((each) => each.weight)).toEqual([7, 1])
  })
})

describe('lengths, health and min_tokens', () => {
  test('a prompt longer than every target takes is refused as too long', () => {
    const refused = ask([
      { ...big, max_input_length: 50 },
      { ...small, max_input_length: 99 },
    ])
    expect(orderOf(refused)).toBe('context_length_exceeded')
  })
  test('a prompt between the limits of all targets is refused as such', () => {
    const refused = ask([
      { ...big, max_input_length: 50 },
      { ...small, min_input_length: 101 },
    ])
    expect(orderOf(refused)).toBe('invalid_request')
  })
  test('limits include their own length', () => {
    expect(orderOf(ask([{ ...big, max_input_length: 100 }]))).toEqual([0])
    expect(orderOf(ask([{ ...big, min_input_length: 100 }]))).toEqual([0])
  })
  test('a runner that is down is left out of the order, and its share goes to the others', () => {
    const runners = [{ ...up, available: false }, up]
    expect(orderOf(ask([big, { ...small, min_tokens: 200 }], { runners }))).toEqual([1])
  })
  test('the soonest return of all suitable runners is the time to wait', () => {
    const runners = [900, 300].map((retryAfterMs) => ({ ...up, available: false, retryAfterMs }))
    expect(ask([big, small], { runners })).toMatchObject({ code: 'runner_unreachable', detail: { retryAfterMs: 300 } })
  })
  test('min_tokens holds a target back until its share of the budget reaches it', () => {
    const targets = [big, { ...small, min_tokens: 300 }]
    const owed = [-250, 250]
    expect(orderOf(ask(targets, { budgetTokens: 100, owed: [-100, 100] }))).toEqual([0])
    expect(orderOf(ask(targets, { budgetTokens: 999, owed: [-0.1, 0.1] }))).toEqual([0, 1])
    expect(orderOf(ask(targets, { budgetTokens: 1000, owed: [-999, 0] }))).toEqual([1, 0])
    expect(orderOf(ask(targets, { budgetTokens: 300, owed }))).toEqual([1, 0])
  })
  test('a call smaller than every min_tokens is refused with the least', () => {
    const refused = ask([
      { ...big, min_tokens: 500 },
      { ...small, min_tokens: 300 },
    ])
    expect(refused).toMatchObject({ code: 'invalid_request', message: expect.stringContaining('300 or more') })
  })
})

describe('among eligible targets', () => {
  test('the one furthest below its share is first, the others follow', () => {
    expect(orderOf(ask([big, small], { owed: [-500, 500] }))).toEqual([1, 0])
    expect(orderOf(ask([big, small]))).toEqual([0, 1])
  })
  test('among equals the fewest outstanding tokens win', () => {
    const runners = [{ ...up, outstandingTokens: 900 }, up]
    expect(
      orderOf(
        ask(
          [
            { ...big, weight: 1 },
            { ...small, weight: 1 },
          ],
          { runners },
        ),
      ),
    ).toEqual([1, 0])
    expect(orderOf(ask([big, small], { runners }))).toEqual([0, 1])
  })
  test('a conversation stays where its prefix is while the share allows, and not beyond', () => {
    const sticky = { index: 1, overdraftTokens: 1000 }
    expect(orderOf(ask([big, small], { sticky, owed: [800, -800] }))).toEqual([1, 0])
    expect(orderOf(ask([big, small], { sticky, owed: [900, -900] }))).toEqual([0, 1])
  })
  test('the order holds every candidate at most once and never one that is down or takes another length', () => {
    const target = fc.record({
      weight: fc.integer({ min: 0, max: 5 }),
      min_tokens: fc.integer({ min: 0, max: 400 }),
      max_input_length: fc.option(fc.integer({ min: 1, max: 200 })),
    })
    const row = fc.tuple(target, fc.boolean(), fc.integer({ min: -500, max: 500 }))
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 6 }), fc.nat(250), (rows, inputTokens) => {
        const targets = rows.map(([each], i) => ({ runner: 'r', model: `m${i}`, ...each }))
        const runners = rows.map(([, available]) => ({ ...up, available }))
        const owed = rows.map(([, , each]) => each)
        const found = ask(targets, { runners, owed, inputTokens, budgetTokens: inputTokens + 50 })
        if (found.kind === 'refuse') return
        const order = found.order.map((each) => each.index)
        expect(new Set(order).size).toBe(order.length)
        for (const i of order) {
          const { weight, max_input_length, min_tokens } = targets[i] as (typeof targets)[number]
          expect(weight).toBeGreaterThan(0)
          expect(runners[i]?.available).toBe(true)
          expect(max_input_length ?? Infinity).toBeGreaterThanOrEqual(inputTokens)
          expect(inputTokens + 50).toBeGreaterThanOrEqual(min_tokens)
        }
      }),
      { seed: 7, numRuns: 300 },
    )
  })
})

test('the rule of a call is plain data and differs by tier and model', () => {
  const config = parse([big, { ...small, tier_weights: { vip: 5 } }])
  const facts = (tier: string) => ({
    principal: { id: 'u', tenant: 't', tier, scopes: [], claims: {}, method: 'jwt' as const },
  })
  const free = routingRuleFor(config, facts('free'), 'chat')
  expect(JSON.parse(JSON.stringify(free))).toEqual(free)
  expect(routingRuleFor(config, facts('vip'), 'chat')).not.toEqual(free)
  expect(routingRuleFor(config, facts('free'), 'small')).not.toEqual(free)
  expect(routingRuleFor(config, {}, 'unknown')).toEqual([])
})

describe('the repeat of an answer of low quality', () => {
  test('goes to the largest target that is eligible, whatever the shares', () => {
    const sized = [
      { ...big, size: 7 },
      { ...small, size: 70 },
      { ...small, runner: 'c', model: 'tiny', size: 700, max_input_length: 10 },
    ]
    expect(orderOf(ask(sized, { largest: true, owed: [9000, -9000, 0] }))).toEqual([1, 0])
  })
})
