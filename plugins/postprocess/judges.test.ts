import { expect, test, vi } from 'vitest'
import { createTestHost, type TestHost } from '../../test/support/host.ts'
import type { RunnerQuestion } from '../host.ts'
import type { Reply } from '../reply.ts'
import { scoresFromGuard, scoresFromModeration } from './judges.ts'
import { callOf, completionOf, settled, wholeOf } from './test-answers.ts'

const ask = (config: object, host: TestHost, text = 'an answer'): Promise<Reply> =>
  settled({ config, call: callOf({ stream: true }), says: [completionOf(text), completionOf('another')], host })
const contentOf = async (reply: Promise<Reply>): Promise<unknown> =>
  (await wholeOf(await reply)).choices?.[0]?.message?.content
const answering = (url: string, body: unknown, status = 200): TestHost => {
  const host = createTestHost()
  host.answers.set(url, () => ({ status, body: Buffer.from(JSON.stringify(body)) }))
  return host
}
const asking = (said: string | Error): { host: TestHost; asked: RunnerQuestion[] } => {
  const asked: RunnerQuestion[] = []
  const state = () => ({ available: true, retryAfterMs: 0, outstandingTokens: 0 })
  const answer = async (question: RunnerQuestion): Promise<string> => {
    asked.push(question)
    if (said instanceof Error) throw said
    return said
  }
  return { host: createTestHost({ runners: { names: ['judge'], state, ask: answer } }), asked }
}

const url = 'http://127.0.0.1:9/moderations'
const moderated = (threshold: string, more: object = {}): object => ({
  safety: [{ category: 'violence', threshold }],
  moderation: { kind: 'endpoint', url, model: 'omni', headers: { authorization: 'Bearer k' }, ...more },
})
const verdictOf = (score: number): object => ({
  results: [{ flagged: false, categories: { violence: false }, category_scores: { violence: score } }],
})

test.each([
  ['block_high', 0.79, false],
  ['block_high', 0.8, true],
  ['block_medium', 0.5, true],
  ['block_low', 0.19, false],
  ['block_all', 0.02, true],
  ['block_all', 0.001, false],
])('a moderation score ends an answer by the threshold: %s at %d', async (threshold, score, blocks) => {
  const host = answering(url, verdictOf(score))
  const reading = contentOf(ask(moderated(threshold), host))
  if (blocks) await expect(reading).rejects.toMatchObject({ code: 'output_invalid', message: /safety\.violence/ })
  else expect(await reading).toBe('an answer')
  expect(host.sent[0]?.request).toMatchObject({
    method: 'POST',
    headers: { authorization: 'Bearer k' },
    body: JSON.stringify({ model: 'omni', input: 'an answer' }),
  })
})

test('what the judge sees is redacted already', async () => {
  const host = answering(url, verdictOf(0))
  await contentOf(ask({ ...moderated('block_high'), pii: { types: ['email'] } }, host, 'to a@b.com'))
  expect(host.sent[0]?.request.body).toContain('to [redacted email]')
})

test('nobody is asked when every threshold is block_none', async () => {
  const host = createTestHost()
  expect(await contentOf(ask(moderated('block_none'), host))).toBe('an answer')
  expect(host.sent).toEqual([])
})

test('an answer that nobody could judge is refused, or passes where the rules say so', async () => {
  for (const host of [
    createTestHost(),
    answering(url, {}),
    answering(url, verdictOf(0), 500),
    answering(url, { results: [{}] }),
  ]) {
    await expect(ask(moderated('block_high'), host)).rejects.toMatchObject({ code: 'runner_error', status: 502 })
    expect(await contentOf(ask(moderated('block_high', { onFailure: 'pass' }), host))).toBe('an answer')
  }
})

test('a guard model is asked with the question and the answer', async () => {
  const config = {
    safety: [{ category: 'weapons', threshold: 'block_high' }],
    moderation: { kind: 'guard-model', runner: 'judge', model: 'guard', categories: { weapons: 'S9' } },
  }
  const { host, asked } = asking('unsafe\nS1,S9')
  await expect(ask(config, host)).rejects.toMatchObject({ message: /safety\.weapons/ })
  expect(asked[0]).toMatchObject({
    runner: 'judge',
    body: { model: 'guard', messages: [{ content: 'Hi' }, { content: 'an answer' }] },
  })
  expect(await contentOf(ask(config, asking('safe').host))).toBe('an answer')
  await expect(ask(config, asking('well, hmm').host)).rejects.toMatchObject({ code: 'runner_error' })
})

test('verdicts are read in their shapes', () => {
  expect(
    scoresFromModeration({ results: [{ categories: { a: true, b: false }, category_scores: { b: 0.3 } }] }),
  ).toEqual(
    new Map([
      ['a', 1],
      ['b', 0.3],
    ]),
  )
  expect(scoresFromGuard('{"a": 0.7}', [])).toEqual(new Map([['a', 0.7]]))
  expect(scoresFromGuard(' Unsafe: S2', ['S1', 'S2'])).toEqual(
    new Map([
      ['S1', 0],
      ['S2', 1],
    ]),
  )
  expect(() => scoresFromModeration({})).toThrow()
})

const scorer = 'http://127.0.0.1:9/score'
const scored = (more: object = {}): object => ({
  quality_score: { scorer: 'endpoint', url: scorer, min: 0.7, ...more },
})

test('an answer under the lowest score is a failure, and is asked for again where the rules say so', async () => {
  await expect(ask(scored(), answering(scorer, { score: 0.5 }))).rejects.toMatchObject({
    message: /quality_score 0\.5 is under 0\.7/,
  })
  const host = createTestHost()
  host.answers.set(scorer, ({ body }) => ({
    body: Buffer.from(`{"score":${String(body).includes('another') ? 0.9 : 0.1}}`),
  }))
  expect(await contentOf(ask({ ...scored(), onInvalid: 'retry' }, host))).toBe('another')
})

test('a score nobody gave passes, or refuses where the rules say so', async () => {
  for (const host of [createTestHost(), answering(scorer, { score: 7 }), answering(scorer, {})]) {
    expect(await contentOf(ask(scored(), host))).toBe('an answer')
    await expect(ask(scored({ onFailure: 'refuse' }), host)).rejects.toMatchObject({ code: 'runner_error' })
  }
})

test('a model can be the judge', async () => {
  const config = { quality_score: { scorer: 'judge', runner: 'judge', model: 'j', min: 0.7 } }
  expect(await contentOf(ask(config, asking('0.9').host))).toBe('an answer')
  const { host, asked } = asking('Score: 0.2')
  await expect(ask(config, host)).rejects.toMatchObject({ code: 'output_invalid' })
  expect(asked[0]?.body['messages']).toMatchObject([
    { role: 'system' },
    { content: 'Question:\nHi\n\nAnswer:\nan answer' },
  ])
})

const hook = 'http://127.0.0.1:9/review'

test('answers under the review threshold are told by webhook and stream, and nothing waits', async () => {
  const host = answering(scorer, { score: 0.4 })
  let answer: () => void = () => {}
  host.answers.set(hook, () => new Promise((resolve) => (answer = () => resolve({ status: 204 }))))
  const append = vi.spyOn(host.store, 'append')
  const config = { ...scored({ min: 0 }), review: { below: 0.6, webhook: hook, stream: 'review', includeText: true } }
  expect(await contentOf(ask(config, host))).toBe('an answer')
  expect(host.sent.at(-1)?.url).toBe(hook)
  expect(JSON.parse(String(host.sent.at(-1)?.request.body))).toMatchObject({
    id: 'c1',
    tenant: 't1',
    model: 'm',
    score: 0.4,
    text: 'an answer',
  })
  expect(append.mock.calls[0]?.[0]).toBe('review')
  answer()
  await vi.waitFor(() => expect(host.counts.get('postprocess.review-sent')).toBe(2))
})

test('a good answer is not reviewed, and a hook that fails is only counted', async () => {
  const config = { ...scored({ min: 0 }), review: { below: 0.6, webhook: hook } }
  const good = answering(scorer, { score: 0.8 })
  await contentOf(ask(config, good))
  expect(good.sent.map(({ url }) => url)).toEqual([scorer])
  const host = answering(scorer, { score: 0.1 })
  expect(await contentOf(ask(config, host))).toBe('an answer')
  await vi.waitFor(() => expect(host.counts.get('postprocess.review-failed')).toBe(1))
})
