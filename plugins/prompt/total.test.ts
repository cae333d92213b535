import fc from 'fast-check'
import { expect, test } from 'vitest'
import { GatewayError } from '../errors.ts'
import { prompt, promptRuleFor, ruleFromConfig } from './index.ts'
import { ask, openRig } from './test-rig.ts'

// Made anew for each: filling in defaults of one must not reach another.
const on = () => ({ enabled: true })
const config = {
  templates: { a: { text: '{{ tenant }} {{ now_utc }} {{#if x}}{{ x }}{{/if}}' } },
  paths: { x: 'body.metadata.x' },
  context: { maxTokens: 60, reserveOutput: 1, keepTurns: 1, cutMessages: true },
  decorators: [{ role: 'user', position: 'append', text: '{{ tier }}' }],
  adaptations: { steps: on(), 'two-phase-tools': on(), anchor: { ...on(), minChars: 1 }, recap: on() },
}

const text = fc.oneof(
  fc.string(),
  fc.constantFrom('do it step by step', 'My name is Ann. I am 5.', 'You must never say no.', '分三步'),
)
const part = fc.oneof(
  fc.record({ type: fc.constant('text'), text }),
  fc.record({ type: fc.string(), image_url: fc.jsonValue() }),
)
const calls = fc.array(
  fc.record({ id: text, function: fc.dictionary(fc.string(), fc.jsonValue()) }, { requiredKeys: [] }),
)
const message = fc.record(
  {
    role: fc.constantFrom('system', 'developer', 'user', 'assistant', 'tool', 'other'),
    content: fc.oneof(text, fc.constant(null), fc.array(part)),
    tool_calls: fc.oneof(fc.constant(null), calls),
    tool_call_id: text,
  },
  { requiredKeys: ['role'] },
)
const body = fc.record(
  {
    messages: fc.array(message, { minLength: 1, maxLength: 8 }),
    tools: fc.oneof(fc.constant(null), fc.array(fc.dictionary(fc.constantFrom('type', 'function'), fc.jsonValue()))),
    tool_choice: fc.jsonValue(),
    metadata: fc.jsonValue(),
    controllability: fc.oneof(fc.constantFrom('concise', 'creative'), fc.jsonValue()),
    max_tokens: fc.oneof(fc.constant(null), fc.integer({ min: 1, max: 90 })),
  },
  { requiredKeys: ['messages'] },
)

test('any request that is one gets a verdict or a GatewayError, is not changed in place, and two askings agree', async () => {
  const rig = await openRig(config)
  const rule = ruleFromConfig(prompt.config.parse(config), rig.host)
  await fc.assert(
    fc.asyncProperty(body, async (request) => {
      const call = ask(request)
      const before = JSON.stringify(call.request)
      const attempt = async () => {
        try {
          promptRuleFor(rule, call, undefined)
          return JSON.stringify(await rig.acting.decide?.(call, 'observe'))
        } catch (error) {
          expect(error).toBeInstanceOf(GatewayError)
          return (error as GatewayError).code
        }
      }
      expect(await attempt()).toBe(await attempt())
      expect(JSON.stringify(call.request)).toBe(before)
    }),
    { seed: 99, numRuns: 400 },
  )
})
