import type { Probe } from '../layer.ts'
import { type CacheConfig, cacheConfig } from './config.ts'
import { fold } from './fold.ts'
import type { CacheStep } from './step.ts'

function stepOf(config: Partial<CacheConfig>): CacheStep {
  return fold(cacheConfig.parse({ ttl_seconds: 60, ...config }), {
    declared: new Set(['plan']),
    conversationHeader: 'x-conversation-id',
    file: () => Buffer.alloc(0),
  })
}

const chat = (content: unknown, more: object = {}): object => ({
  model: 'auto',
  messages: [{ role: 'user', content }],
  ...more,
})
const last = 'messages[-1].content'
const day = stepOf({ input_hash_fields: [last, { path: 'metadata.day', precision: 'int64' }] })

/** Calls that a runner is tried with. An observer lets each of them pass: what is compared is the key, or why there is none. */
export const probes: readonly Probe<CacheStep>[] = [
  {
    title: 'the whole body is the key, but for what is about delivery and what a caller directs',
    step: stepOf({}),
    body: chat('hello', {
      temperature: 0,
      stream: true,
      user: 'u',
      seed: 7,
      tools: [],
      execution_context: { cache: { ttl_seconds: 1 } },
    }),
    expect: { o: 'pass' },
  },
  {
    title: 'chosen fields make the key, facts and claims among them, and every parameter counts beside them',
    step: stepOf({
      input_hash_fields: [last, 'tier', 'plan', 'client_ip', { path: 'temperature', precision: 'decimal:1' }],
    }),
    body: chat('hello', { temperature: 0.7000001, top_p: 0.5 }),
    principal: { tier: 'free', claims: { plan: 'gold' } },
    expect: { o: 'pass' },
  },
  {
    title: 'a call without one of the fields has no key',
    step: stepOf({ input_hash_fields: [last, 'messages[1].content'] }),
    body: chat('hello'),
    expect: { o: 'pass' },
  },
  {
    title: 'under the deterministic strategy an absent temperature is not 0',
    step: stepOf({ cache_strategy: 'deterministic' }),
    body: chat('hello'),
    expect: { o: 'pass' },
  },
  {
    title: 'under the deterministic strategy a seed is enough',
    step: stepOf({ cache_strategy: 'deterministic' }),
    body: chat('hello', { temperature: 1, seed: 1 }),
    expect: { o: 'pass' },
  },
  {
    title: 'an integer keeps its digits under int64',
    step: day,
    body: chat('hello', { metadata: { day: '9007199254740993.0' } }),
    expect: { o: 'pass' },
  },
  {
    title: 'what int64 cannot read as an integer stays as it is',
    step: day,
    body: chat('hello', { metadata: { day: 'tuesday' } }),
    expect: { o: 'pass' },
  },
  {
    title: 'hooks of every kind change a field before it counts',
    step: stepOf({
      input_hash_fields: [{ path: last, precision: 'string_fold' }],
      preprocess_hooks: ['normalize_numbers', 'normalize_whitespace', 'strip_trailing_punctuation', 'own'].map(
        (name) => ({ field: last, function: name }),
      ),
      hooks: { own: [{ pattern: 'please\\s+', replacement: '', ignoreCase: true }] },
    }),
    body: chat([{ type: 'text', text: ' Please  tell ME 1,234.50 things… ' }]),
    expect: { o: 'pass' },
  },
  {
    title: 'a caller who wants no part of the cache has no key',
    step: stepOf({}),
    body: chat('hello'),
    headers: { 'cache-control': 'no-store' },
    expect: { o: 'pass' },
  },
  {
    title: 'a time to live of 0 keeps nothing',
    step: stepOf({ ttl_seconds: 0 }),
    body: chat('hello'),
    expect: { o: 'pass' },
  },
]
