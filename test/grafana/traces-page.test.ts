import { expect, it } from 'vitest'
import { attributeNames } from '../../proxy/telemetry/gen-ai.ts'
import { pageFrom, rowsUnder } from '../docs/page.ts'

it('grafana/traces.md lists the attributes that are exported, all of them and no others', () => {
  const rows = rowsUnder(pageFrom('grafana/traces.md'), 'Attributes')
  const named = rows.flatMap(([names = '']) => [...names.matchAll(/`([^`]+)`/g)].map(([, name]) => name))
  expect(named.toSorted()).toEqual(Object.values(attributeNames).toSorted())
})
