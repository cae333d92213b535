import { type Probe, probeModel } from '../layer.ts'
import { routingConfig } from './config.ts'
import type { RoutingStep } from './step.ts'

function stepOf(targets: readonly object[]): RoutingStep {
  const named = targets.map((each, index) => ({ runner: `probe-${index}`, model: probeModel, ...each }))
  return { ...routingConfig.parse({ targets: named }), conversationHeader: 'x-conversation-id' }
}

const chat = (content: string, more: object = {}): object => ({
  model: 'auto',
  messages: [{ role: 'user', content }],
  max_tokens: 100,
  ...more,
})
const two = stepOf([{ aliases: ['chat'] }, { aliases: ['chat'] }])
const reads = { input: 10, budget: 110, owed: [-500, 500], fleet: [0, 0], busy: [0, 0] }

/** Calls that a runner is tried with. */
export const probes: readonly Probe<RoutingStep>[] = [
  {
    title: 'the only target gets the call',
    step: stepOf([{}]),
    body: chat('hello'),
    expect: { o: 'pass' },
  },
  {
    title: 'a model that is not configured is refused',
    step: two,
    body: chat('hello', { model: 'probe-unknown' }),
    expect: { o: 'refuse', code: 'model_not_found' },
  },
  {
    title: 'a prompt that is too long is refused',
    step: stepOf([{ max_input_length: 20 }]),
    body: chat('one two three four five '.repeat(100)),
    expect: { o: 'refuse', code: 'context_length_exceeded' },
  },
  {
    title: 'a target of another tier is not there',
    step: stepOf([{ tiers: ['vip'] }]),
    body: chat('hello'),
    principal: { tier: 'free' },
    expect: { o: 'refuse', code: 'model_not_found' },
  },
  {
    title: 'the target that is further below its share gets the call',
    step: two,
    body: chat('hello', { model: 'chat' }),
    reads,
    expect: { o: 'pass' },
  },
  {
    title: 'a target that is not available gets no call, whatever it is owed',
    step: two,
    body: chat('hello', { model: 'chat' }),
    reads: { ...reads, busy: [0, -1] },
    expect: { o: 'pass' },
  },
  {
    title: 'a conversation stays with its target as far as its share allows',
    step: two,
    body: chat('hello', { model: 'chat' }),
    headers: { 'x-conversation-id': 'probe' },
    reads: { ...reads, owed: [0, 0], fleet: [400, -400], home: 1 },
    expect: { o: 'pass' },
  },
]
