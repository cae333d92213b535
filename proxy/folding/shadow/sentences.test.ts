import { expect, it } from 'vitest'
import { createEmbeddingSimilarity } from '../diff/embedding-similarity.ts'
import { openSentences } from './sentences.ts'

it('sentences that mean the same are alike, others are not, and a negation is told apart whatever the vectors say', async () => {
  const closing = new AbortController()
  const similar = createEmbeddingSimilarity(openSentences(closing.signal))
  const others = [
    'Your order has been cancelled, as you asked.',
    'The weather will be nice tomorrow.',
    'We did not cancel your order as you asked.',
    'We have cancelled your order as you asked.',
  ]
  const [same, other, negated, equal] = (await similar('We have cancelled your order as you asked.', others)) ?? []
  expect(same?.score).toBeGreaterThan(0.7)
  expect(other?.score).toBeLessThan(0.4)
  expect(negated).toMatchObject({ score: 0, raw: expect.any(Number), guard: expect.anything() })
  expect(negated?.raw).toBeGreaterThan(0.7)
  expect(equal).toEqual({ score: 1, raw: 1 })
  closing.abort()
  expect(await similar('one', ['two'])).toBeUndefined()
})
