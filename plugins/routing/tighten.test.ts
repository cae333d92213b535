import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { GatewayError } from '../errors.ts'
import { routing } from './index.ts'
import { candidatesFor, place, routingRuleFor } from './rule.ts'
import { type RoutingStep, routingStep } from './step.ts'
import { tighten } from './tighten.ts'

const stepOf = (targets: object[]): RoutingStep => ({ ...routing.config.parse({ targets }), conversationHeader: 'x-c' })
const a = { runner: 'r', model: 'a', weight: 7, aliases: ['chat'], min_tokens: 10, max_input_length: 100 }
const b = { runner: 'r', model: 'b', weight: 3, aliases: ['chat'], tiers: ['vip'] }
const c = { runner: 'r', model: 'c', weight: 0, aliases: ['chat'], tier_weights: { vip: 5 } }
const step = stepOf([a, b, c])

/** Model and weight of the candidates for a name. */
const weightsOf = (of: RoutingStep, model = 'auto', tier = 'vip') =>
  candidatesFor(of, model, tier).map(({ target, weight }) => [target.model, weight])

describe('what directives ask of routing', () => {
  test('nothing asked leaves the very same step', () => {
    expect(tighten(step, {})).toBe(step)
    expect(tighten(step, { routing: {} })).toBe(step)
  })
  test('weights stand in place of the operator’s; who is not named gets no call', () => {
    const tightened = tighten(step, { routing: { a: 0.2, b: { weight: 0.8, min_tokens: 5, max_input_length: 50 } } })
    expect(weightsOf(tightened)).toEqual([
      ['a', 0.2],
      ['b', 0.8],
    ])
    expect(tightened.targets[1]).toMatchObject({ min_tokens: 5, max_input_length: 50 })
    expect(routingStep.faults(tightened)).toEqual([])
  })
  test('a target without weight, or of another tier, stays out whatever is asked', () => {
    const asked = { routing: { b: 1, c: 9 } }
    expect(weightsOf(tighten(step, asked), 'auto', 'free')).toEqual([])
    expect(weightsOf(tighten(step, asked))).toEqual([
      ['b', 1],
      ['c', 9],
    ])
  })
  test('targets behind an alias share its weight as they do without directives', () => {
    expect(weightsOf(tighten(stepOf([a, { ...b, tiers: null }]), { routing: { chat: 2 } }))).toEqual([
      ['a', 1.4],
      ['b', 0.6],
    ])
  })
  test('limits alone leave the weights what they are', () => {
    expect(weightsOf(tighten(step, { routing: { a: { min_tokens: 20, max_input_length: 99 } } }))).toEqual(
      weightsOf(step),
    )
  })
  test('the rule that a cache further out reads follows', () => {
    const rule = (of: RoutingStep) => routingRuleFor(of, {}, 'auto')
    expect(rule(tighten(step, { routing: { a: { max_input_length: 99 } } }))).not.toEqual(rule(step))
    expect(rule(tighten(step, { routing: { a: 3 } }))).not.toEqual(rule(step))
  })
  test.each<[Record<string, unknown>, string]>([
    [{ unknown: 1 }, 'unknown'],
    [{ auto: 1 }, 'auto'],
    [{ constructor: 1 }, 'constructor'],
    [{ a: -1 }, 'a'],
    [{ a: 'much' }, 'a'],
    [{ a: null }, 'a'],
    [{ a: {} }, 'a'],
    [{ a: { wieght: 1 } }, 'a.wieght'],
    [{ a: { weight: '1' } }, 'a.weight'],
    [{ a: { min_tokens: 9 } }, 'a.min_tokens'],
    [{ a: { min_tokens: 10.5 } }, 'a.min_tokens'],
    [{ a: { max_input_length: 101 } }, 'a.max_input_length'],
    [{ b: { max_input_length: 0 } }, 'b.max_input_length'],
    [{ a: 1, chat: 1 }, 'chat'],
    [{ a: 1, b: { min_tokens: 5 } }, 'b'],
    [{ a: 0, b: 0 }, ''],
  ])('%j is refused at execution_context.routing, member "%s"', (asked, member) => {
    const field = member ? `execution_context.routing.${member}` : 'execution_context.routing'
    const refused = (): unknown => tighten(step, { routing: asked })
    expect(refused).toThrow(GatewayError)
    expect(refused).toThrow(expect.objectContaining({ code: 'invalid_request', detail: { field } }))
  })
})

test('whatever is asked: a target that the operator’s rule keeps from a call never gets it', () => {
  const amount = fc.oneof(fc.double({ min: 0, max: 10, noNaN: true }), fc.constant(0))
  const ask = fc.record(
    { weight: amount, min_tokens: fc.nat(60), max_input_length: fc.integer({ min: 1, max: 120 }) },
    { requiredKeys: [] },
  )
  const directives = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'chat', 'x'), fc.oneof(amount, ask), { maxKeys: 3 })
  const question = fc.record({
    model: fc.constantFrom('a', 'b', 'c', 'chat', 'auto', 'x'),
    tier: fc.constantFrom('vip', 'free'),
    inputTokens: fc.nat(130),
    output: fc.nat(40),
    owed: fc.array(fc.integer({ min: -200, max: 200 }), { minLength: 3, maxLength: 3 }),
    largest: fc.boolean(),
  })
  let served = 0
  fc.assert(
    fc.property(directives, question, (asked, { model, tier, inputTokens, output, owed, largest }) => {
      let tightened: RoutingStep
      try {
        tightened = tighten(step, { routing: asked })
      } catch (reason) {
        expect(reason).toMatchObject({ code: 'invalid_request' })
        return
      }
      const budgetTokens = inputTokens + output
      const ask = (of: RoutingStep) =>
        place({
          candidates: candidatesFor(of, model, tier),
          model,
          inputTokens,
          budgetTokens,
          owed,
          fleet: [0, 0, 0],
          runners: [0, 1, 2].map(() => ({ available: true, retryAfterMs: 0, outstandingTokens: 0 })),
          largest,
          sticky: { index: undefined, overdraftTokens: 0 },
        })
      const [before, after] = [ask(step), ask(tightened)]
      if (after.kind === 'refuse') return
      served++
      expect(before.kind).toBe('order')
      const allowed = before.kind === 'order' ? before.order.map(({ index }) => index) : []
      for (const { index } of after.order) expect(allowed).toContain(index)
    }),
    { seed: 4, numRuns: 2000 },
  )
  expect(served).toBeGreaterThan(200)
})
