import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { editSimilarity } from './edit-similarity.ts'
import { cosine, createEmbeddingSimilarity, embeddingsRequest, vectorsFromBody } from './embedding-similarity.ts'
import { guardAgainst } from './meaning-guard.ts'
import { createPairing } from './pair-outcome.ts'
import { lexicalSimilarity } from './similarity.ts'
import { takeDates } from './spoken-dates.ts'
import { numbersIn } from './spoken-numbers.ts'

const base = 'The package arrives on time, and everything in it works as the manual says it should.'

describe('lexicalSimilarity()', () => {
  it('is 1 for texts that are the same to a reader', () => {
    expect(lexicalSimilarity(base, base).score).toBe(1)
    expect(lexicalSimilarity(`${base}  \r\n`, base).score).toBe(1)
    expect(lexicalSimilarity('It costs USD 1,200 now', 'It costs $1200 now').score).toBe(1)
  })

  it('is between 0 and 1, and the same both ways round', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (one, two) => {
        const { score, raw } = lexicalSimilarity(one, two)
        expect(score).toBeGreaterThanOrEqual(0)
        expect(raw).toBeLessThanOrEqual(1)
        expect(lexicalSimilarity(two, one)).toEqual({ ...lexicalSimilarity(one, two) })
      }),
      { seed: 21 },
    )
  })

  it('is less the more words are others', () => {
    const words = base.split(' ')
    const scores = [1, 4, 10].map((count) => {
      const other = words.map((word, at) => (at % 2 === 0 && at / 2 < count ? 'zebra' : word)).join(' ')
      return lexicalSimilarity(base, other).score
    })
    expect(scores).toEqual(scores.toSorted((a, b) => b - a))
    expect(new Set(scores).size).toBe(3)
  })

  it('sees another structure in the same words', () => {
    const list = '- apples\n- pears\n- plums'
    const line = 'apples\npears\nplums'
    expect(lexicalSimilarity(list, line).score).toBeLessThan(lexicalSimilarity(list, '- apples\n- pears\n- figs').score)
  })

  it('counts words that both begin and end with once', () => {
    expect(editSimilarity(['a', 'a'], ['a', 'a', 'a'])).toBeCloseTo(2 / 3)
    expect(editSimilarity(['a', 'b', 'c'], ['a', 'x', 'c'])).toBeCloseTo(2 / 3)
    expect(editSimilarity([], [])).toBe(1)
    expect(editSimilarity([], ['a'])).toBe(0)
  })

  it('is the edit distance, as the plain table has it', () => {
    const distance = (old: readonly string[], now: readonly string[]): number => {
      let row = [0, ...now.map((_, at) => at + 1)]
      for (const [i, word] of old.entries()) {
        const next = [i + 1]
        for (const [j, other] of now.entries()) {
          next.push(Math.min(row[j]! + (word === other ? 0 : 1), row[j + 1]! + 1, next[j]! + 1))
        }
        row = next
      }
      return row[now.length]!
    }
    const words = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 150 })
    fc.assert(
      fc.property(words, words, (old, now) => {
        const expected = 1 - distance(old, now) / Math.max(old.length, now.length, 1)
        expect(editSimilarity(old, now)).toBeCloseTo(expected, 10)
      }),
      { seed: 24, numRuns: 300 },
    )
  })

  it.each([' ', 'ne ', '1,', '-', '...5', '年', 'a@'])('takes no long time for a text of nothing but %j', (unit) => {
    const text = unit.repeat(100_000 / unit.length)
    const start = performance.now()
    expect(lexicalSimilarity(`a${text}x`, `a${text}y`).score).toBeLessThan(1)
    expect(performance.now() - start).toBeLessThan(2_000)
  })

  it('takes no long time for long texts', () => {
    const long = (word: string) => Array.from({ length: 20_000 }, (_, at) => `${word}${at}`).join(' ')
    expect(editSimilarity(long('a').split(' '), long('b').split(' '))).toBe(0)
  })
})

describe('the guard', () => {
  it.each([
    ['number', 'The dose is 5 mg a day', 'The dose is 50 mg a day'],
    ['number', 'Take two of them', 'Take three of them'],
    ['number', 'A costs 3 and B costs 5', 'A costs 5 and B costs 3'],
    ['number', '共有十五个人', '共有五十个人'],
    ['number', '价格是三元', '价格是四元'],
    ['negation', 'This drug is safe for children', 'This drug is not safe for children'],
    ['negation', 'You can do it', "You can't do it"],
    ['negation', 'A is not good but B is good', 'A is good but B is not good'],
    ['negation', '这个药对儿童安全', '这个药对儿童不安全'],
    ['negation', '他有钱', '他没有钱'],
    ['negation', 'Das ist gut', 'Das ist nicht gut'],
    ['date', 'It ends on 2024-03-05', 'It ends on 2024-03-06'],
    ['date', 'It ends on March 5, 2024', 'It ends on May 5, 2024'],
    ['date', '会议在2024年3月5日', '会议在2024年3月6日'],
    ['date', 'See you on Monday', 'See you on Tuesday'],
    ['date', 'See you at 2:30 pm', 'See you at 2:30 am'],
    ['date', '我们明天见', '我们昨天见'],
  ] as const)('tells texts with another %s apart: %s / %s', (guard, old, now) => {
    expect(guardAgainst(old, now)).toBe(guard)
    expect(lexicalSimilarity(old, now)).toMatchObject({ score: 0, guard })
    expect(lexicalSimilarity(old, now).raw).toBeGreaterThan(0)
  })

  it.each([
    ['It costs $1,234.50', 'It costs 1234.5 dollars'],
    ['Take 5 of them', 'Take five of them'],
    ['There were 25 of them', 'There were twenty-five of them'],
    ['1. apples\n2. pears', '- apples\n- pears'],
    ['It ends on March 5, 2024', 'It ends on 2024-03-05'],
    ['It ends on 5th March 2024', '它在2024年3月5日结束'],
    ['See you at 2:30 pm', 'See you at 14:30'],
    ["It isn't so", 'It is not so'],
    ['共有十五个人', '共有15个人'],
    ['这非常好', '这很好'],
    ['The march may go on', 'The walk can go on'],
    ['1.5 million people', '1,500,000 people'],
  ])('lets pass what only says the same otherwise: %s / %s', (old, now) => {
    expect(guardAgainst(old, now)).toBeUndefined()
  })

  it('finds any number that is another', () => {
    const amounts = fc.tuple(fc.integer({ min: 0, max: 1e9 }), fc.integer({ min: 0, max: 1e9 }))
    fc.assert(
      fc.property(amounts, ([one, two]) => {
        fc.pre(one !== two)
        expect(guardAgainst(`We have ${one} of them`, `We have ${two} of them`)).toBeDefined()
      }),
      { seed: 22 },
    )
  })

  it('finds nothing between a text and itself', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(guardAgainst(text, `${text} `)).toBeUndefined()
      }),
      { seed: 23 },
    )
  })

  it('reads numbers and dates in one form each', () => {
    expect(numbersIn('1,234.50 and 1.234,50 and -3 and v1.2.3 and 两千三百 and 三点五 and 3万')).toEqual([
      '1234.5',
      '1234.5',
      '-3',
      '1.2.3',
      '2300',
      '3.5',
      '30000',
    ])
    expect(takeDates('on 5 May 2024 at 3 pm, 周三, 3月5日 and 2024/1/2').dates).toEqual([
      '2024-05-05',
      '15:00',
      'd3',
      'm3-05',
      '2024-01-02',
    ])
  })
})

describe('similarity by embeddings', () => {
  const vectors: Readonly<Record<string, readonly number[]>> = { cat: [1, 0], kitten: [0.9, 0.1], car: [0, 1] }
  const embed = async (texts: readonly string[]) => texts.map((text) => vectors[text.split(' ')[0] as string] ?? [])

  it('is the cosine of the vectors', async () => {
    const [near, far] = (await createEmbeddingSimilarity(embed)('cat', ['kitten', 'car'])) ?? []
    expect(near?.score).toBeCloseTo(0.994, 3)
    expect(far?.score).toBe(0)
    expect(cosine([1, 2], [1])).toBe(0)
  })

  it('obeys the guard all the same', async () => {
    const [said] = (await createEmbeddingSimilarity(embed)('cat 5', ['kitten 6'])) ?? []
    expect(said).toMatchObject({ score: 0, guard: 'number' })
  })

  it('says nothing when vectors cannot be had', async () => {
    const failing = createEmbeddingSimilarity(() => Promise.reject(new TypeError('away')))
    expect(await failing('a', ['b'])).toBeUndefined()
    expect(await createEmbeddingSimilarity(async () => [])('a', ['b'])).toBeUndefined()
    expect(await createPairing({ seed: 's', similar: failing })('a', 'b', 'c')).toMatchObject({ farther: undefined })
  })

  it('writes and reads the documents of the endpoint', () => {
    expect(embeddingsRequest('m', ['a'])).toEqual({ model: 'm', input: ['a'], encoding_format: 'float' })
    const data = [
      { index: 1, embedding: [2] },
      { index: 0, embedding: [1] },
    ]
    expect(vectorsFromBody({ data })).toEqual([[1], [2]])
    expect(() => vectorsFromBody({ data: [{ embedding: 'x' }] })).toThrow(
      expect.objectContaining({ code: 'runner_protocol' }),
    )
    expect(() => vectorsFromBody(null)).toThrow(expect.objectContaining({ code: 'runner_protocol' }))
  })
})

describe('a pair', () => {
  it('counts for whichever differs alone, and not when both do or none does', async () => {
    const judge = createPairing({ seed: 's' })
    expect(await judge('a b c', 'a b c', 'a b d')).toMatchObject({ differs: 1, farther: 1, tied: false })
    expect(await judge('a b c', 'a b d', 'a b c')).toMatchObject({ differs: 0, farther: 0, tied: false })
    expect(await judge('a b c', 'a b d', 'x y z')).toMatchObject({ differs: undefined, farther: 1 })
    expect(await judge('a b c', 'a b c ', 'a b c')).toMatchObject({ differs: undefined, tied: true })
  })

  it('lets a coin fall for ties, each its own and the same under the same seed', async () => {
    const tosses = async (seed: string) => {
      const judge = createPairing({ seed })
      const outcomes = []
      for (let at = 0; at < 400; at++) outcomes.push((await judge('same', 'same', 'same')).farther as number)
      return outcomes
    }
    const first = await tosses('one')
    expect(await tosses('one')).toEqual(first)
    expect(await tosses('two')).not.toEqual(first)
    const heads = first.reduce((sum, each) => sum + each, 0)
    expect(heads).toBeGreaterThan(150)
    expect(heads).toBeLessThan(250)
  })

  it('is fair when the new path is the old one', async () => {
    const judge = createPairing({ seed: 'fair' })
    let state = 7
    const random = (below: number): number => {
      state = (state * 1_103_515_245 + 12_345) % 2 ** 31
      return Math.floor((state / 2 ** 31) * below)
    }
    const said = (): string => Array.from({ length: 6 }, () => ['red', 'green', 'blue'][random(3)]).join(' ')
    let ones = 0
    for (let at = 0; at < 400; at++) ones += (await judge(said(), said(), said())).farther ?? 0
    expect(ones).toBeGreaterThan(150)
    expect(ones).toBeLessThan(250)
  })
})
