import { expect, it } from 'vitest'
import { endpoints } from '../../proxy/admin/endpoints.ts'
import { pageFrom, rowsUnder } from './page.ts'

/** The endpoints of a table's cell: each in backticks, `…/x` for a neighbour of the one before it. */
function namedIn(cell: string): readonly string[] {
  let before = ''
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => {
    before = text.startsWith('…/') ? before.replace(/[^/]+$/, text.slice(2)) : text
    return before
  })
}

it('README.md lists the endpoints of the admin port, all of them and no others', () => {
  const named = rowsUnder(pageFrom('README.md'), 'The admin port').flatMap(([cell = '']) => namedIn(cell))
  const there = endpoints.map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`)
  expect(named.toSorted()).toEqual(there.toSorted())
})
