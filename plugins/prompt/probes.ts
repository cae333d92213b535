import type { Probe } from '../layer.ts'
import type { PromptRule, TemplateRule } from './rule.ts'

const none: PromptRule = {
  templates: {},
  default: null,
  use: [],
  variables: {},
  paths: {},
  enable_determinism: true,
  clock: { granularityMs: 3_600_000 },
  context: {
    maxTokens: null,
    modelTokens: {},
    keepTurns: 1,
    strategy: 'drop',
    reserveOutput: 8,
    strideTurns: 1,
    cutMessages: false,
    summary: null,
  },
  decorators: [],
  adaptations: {
    steps: { enabled: false, words: [], numbering: 'list' },
    'two-phase-tools': { enabled: false, minTools: 2 },
    anchor: { enabled: false, minChars: 2000, maxLines: 3, maxLineChars: 120, place: 'last', keep: true },
    recap: { enabled: false, turns: 3, maxFacts: 2, maxFactChars: 160 },
  },
  controllability: {
    enabled: true,
    member: 'controllability',
    header: 'x-controllability',
    names: {},
    families: [],
  },
  declared: [],
  inlineTemplate: false,
}

const saying = (text: string): PromptRule => {
  const probe: TemplateRule = { version: '1', role: 'system', position: 'before', texts: { '1': text } }
  return { ...none, templates: { probe } }
}
const body = { model: 'probe', messages: [{ role: 'user', content: 'hello' }] }
const small: PromptRule = { ...none, context: { ...none.context, maxTokens: 64 } }
const long = 'the quick brown fox jumps over the lazy dog. '.repeat(20)
const turns = [1, 2, 3, 4].flatMap((n) => [
  { role: 'user', content: `${n}: ${long}` },
  { role: 'assistant', content: long },
])

/** Calls that show whether a runner says what the rule says. */
export const promptProbes: readonly Probe<PromptRule>[] = [
  {
    title: "a template names the caller's tenant",
    step: saying('You serve {{ tenant }}{{#if tier}}, {{ tier }}{{/if}}.'),
    body,
    principal: { tenant: 'acme', tier: 'gold' },
    expect: { o: 'pass' },
  },
  {
    title: "a clock shows the call's own instant, rounded down to the hour",
    step: saying('It is {{ now_utc }}, {{ weekday_utc }}.'),
    body,
    now: 1_799_999_999_999,
    expect: { o: 'pass' },
  },
  {
    title: 'a variable without a value is refused',
    step: saying('You work for {{ department }}.'),
    body,
    expect: { o: 'refuse', code: 'missing_variable' },
  },
  {
    title: 'a conversation that is too long loses its oldest turns and is passed on',
    step: small,
    body: { ...body, messages: [...turns, { role: 'user', content: 'hello' }] },
    expect: { o: 'pass' },
  },
  {
    title: 'a last turn that can never fit is refused',
    step: small,
    body: { ...body, messages: [{ role: 'user', content: long.repeat(8) }] },
    expect: { o: 'refuse', code: 'context_length_exceeded' },
  },
  {
    title: 'a control that a header asks for is known by its name',
    step: none,
    body,
    headers: { 'x-controllability': 'loud' },
    expect: { o: 'refuse', code: 'invalid_request' },
  },
]
