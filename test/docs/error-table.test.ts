import { describe, expect, it } from 'vitest'
import { errorKinds } from '../../plugins/errors.ts'
import { pageFrom, plain, rowsUnder } from './page.ts'

const rows = rowsUnder(pageFrom('plugins/README.md'), 'Every error')

describe('the table of errors in plugins/README.md', () => {
  it('has every code, in the order of the code, with its status, its types and whether a retry can help', () => {
    const documented = rows.map((cells) => cells.slice(0, 5).map(plain))
    const known = Object.entries(errorKinds).map(([code, { status, openai, anthropic, retryable }]) => [
      code,
      String(status),
      openai,
      anthropic,
      retryable ? 'yes' : 'no',
    ])
    expect(documented).toEqual(known)
  })

  it('says of each when it is said', () => {
    expect(rows.filter((cells) => (cells[5] ?? '').length < 10)).toEqual([])
  })
})
