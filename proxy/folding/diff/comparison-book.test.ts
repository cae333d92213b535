import { describe, expect, it } from 'vitest'
import { createComparisonBook } from './comparison-book.ts'
import { createIgnores, type IgnoreRule } from './ignore-rules.ts'
import { differsOf, equalOf, plainStrata, skippedOf } from './test-comparisons.ts'

const rule: IgnoreRule = {
  layer: 'auth',
  pathPattern: 'body.*',
  class: 'H',
  reason: 'known',
  owner: 'ann',
  expires: '1970-01-01T00:00:02Z',
}
const bookWith = (...rules: IgnoreRule[]) => createComparisonBook({ ignores: createIgnores(rules) })

describe('a comparison book', () => {
  it('counts by layer, stratum and signature', () => {
    const book = createComparisonBook()
    book.add(equalOf())
    book.add(equalOf({ tier: 'vip', strata: { ...plainStrata, stream: true } }))
    book.add(differsOf())
    book.add(differsOf({ path: 'body.object' }))
    book.add(skippedOf('too_large'))
    const page = book.snapshot(9).layers['auth']
    expect(page?.total).toEqual({ equal: 2, differs: 2, ignored: 0, skipped: 1, coverage: 0.8 })
    expect(page?.hard).toBe(2)
    expect(page?.skipped).toEqual({ too_large: 1 })
    expect(page?.margins['tier=vip']).toMatchObject({ equal: 1, differs: 0 })
    expect(page?.margins['stream=true']).toMatchObject({ equal: 1 })
    expect(page?.cells['free|1k']).toMatchObject({ equal: 1, differs: 2, skipped: 1 })
    expect(page?.signatures.map(({ path, count }) => [path, count])).toEqual([
      ['body.model', 1],
      ['body.object', 1],
    ])
  })

  it('leaves what was not drawn out of coverage', () => {
    const book = createComparisonBook()
    book.add(equalOf())
    for (let at = 0; at < 99; at++) book.add(skippedOf('not-drawn'))
    expect(book.layer('auth', 0)).toMatchObject({ total: { skipped: 0, coverage: 1 }, skipped: { 'not-drawn': 99 } })
  })

  it('keeps five exemplars of a signature and no more than its limit in all', () => {
    const book = createComparisonBook({ limits: { inAll: 7 } })
    for (let at = 0; at < 20; at++) book.add(differsOf({}, { call: `a${at}`, at }))
    for (let at = 0; at < 20; at++) book.add(differsOf({ path: 'body.object' }, { call: `b${at}`, at }))
    const signatures = book.layer('auth', 0)?.signatures ?? []
    expect(signatures.map(({ count, exemplars }) => [count, exemplars.length])).toEqual([
      [20, 5],
      [20, 2],
    ])
    expect(signatures[0]).toMatchObject({ first: 0, last: 19, pathKnown: true })
  })

  it('keeps so many signatures, and counts what is beyond', () => {
    const book = createComparisonBook({ limits: { signatures: 3 } })
    for (const name of 'abcdefgh') book.add(differsOf({ path: `body.${name}` }))
    expect(book.layer('auth', 0)).toMatchObject({ beyond: 5, hard: 8, signatures: { length: 3 } })
  })

  it('begins a stage with nothing', () => {
    const book = createComparisonBook()
    book.add(differsOf())
    book.begin('auth', 'shadow', 77)
    expect(book.layer('auth', 80)).toMatchObject({ stage: 'shadow', since: 77, hard: 0, signatures: [] })
  })

  it('counts an ignored difference as a third thing until its rule expires', () => {
    const book = bookWith(rule)
    expect(book.add(differsOf({}, { at: 1_999 }))).toBe('ignored')
    expect(book.add(differsOf({}, { at: 2_000 }))).toBe('differs')
    const page = book.layer('auth', 1_999)
    expect(page).toMatchObject({ total: { ignored: 1, differs: 1, coverage: 1 }, hard: 1 })
    expect(page?.signatures[0]).toMatchObject({ count: 2, ignored: 1 })
  })

  it('lets an active rule on class H keep the layer from being promoted, and an expired one not', () => {
    const book = bookWith(rule, { ...rule, class: 'S' }, { ...rule, layer: 'cache' })
    book.add(equalOf())
    expect(book.layer('auth', 1_000)?.blockedBy).toEqual([rule])
    expect(book.layer('auth', 2_000)?.blockedBy).toEqual([])
    expect(book.snapshot(2_000).ignores).toMatchObject({ active: [], expired: { length: 3 } })
  })

  it('ignores a difference of its class, layer and path only', () => {
    const book = bookWith(rule)
    expect(book.add(differsOf({ class: 'S' }))).toBe('differs')
    expect(book.add(differsOf({ path: 'headers.vary' }))).toBe('differs')
    expect(book.add(differsOf({ path: 'body.a.b' }))).toBe('differs')
    expect(book.add(differsOf({}, { layer: 'prompt' }))).toBe('differs')
    expect(book.layer('auth', 0)?.hard).toBe(2)
  })

  it('never ignores what trips a fuse', () => {
    const book = bookWith({ ...rule, layer: '*', pathPattern: '**' })
    expect(book.add(differsOf({ path: undefined }))).toBe('ignored')
    expect(book.add(differsOf({ path: undefined, f1: 'cross-tenant-key' }))).toBe('differs')
    expect(book.layer('auth', 0)).toMatchObject({ f1: { 'cross-tenant-key': 1 }, hard: 1 })
  })

  it('takes a day as lasting to its end, and refuses rules that are none', () => {
    const day = { ...rule, expires: '2024-02-01' }
    const ignores = createIgnores([day])
    expect(ignores.isActive(day, Date.parse('2024-02-01T23:59:59Z'))).toBe(true)
    expect(ignores.isActive(day, Date.parse('2024-02-02T00:00:00Z'))).toBe(false)
    for (const wrong of [{ expires: 'soon' }, { owner: '' }, { class: 'Z' }, { more: 1 }, { expires: '2024-13-41' }]) {
      expect(() => createIgnores([rule, { ...rule, ...wrong } as IgnoreRule])).toThrow(
        expect.objectContaining({ code: 'config_invalid', detail: { field: 'folding.shadow.ignore[1]' } }),
      )
    }
  })

  it('is JSON that survives being written and read', () => {
    const book = bookWith(rule)
    book.add(differsOf({ path: undefined }))
    book.add(equalOf())
    const read = JSON.parse(JSON.stringify(book.snapshot(5)))
    expect(read.layers.auth.signatures[0]).toMatchObject({ pathKnown: false, count: 1 })
    expect(read).toMatchObject({ at: 5, layers: { auth: { total: { equal: 1 } } } })
  })

  it('stays bounded however many tiers there are', () => {
    const book = createComparisonBook()
    for (let tier = 0; tier < 1_500; tier++) book.add(equalOf({ tier: `t${tier}` }))
    const cells = book.layer('auth', 0)?.cells ?? {}
    expect(Object.keys(cells).length).toBeLessThanOrEqual(1_001)
    expect(cells['other|1k']?.equal).toBe(500)
  })
})
