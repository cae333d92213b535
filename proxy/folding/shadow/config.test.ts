import { expect, it } from 'vitest'
import { shadowSchema } from '../../../config/shadow.ts'
import { createSchema } from '../../../plugins/schema.ts'
import { type createIgnores, ignoreRuleJson } from '../diff/ignore-rules.ts'

const rule = {
  layer: 'prompt',
  pathPattern: 'body.**',
  class: 'H',
  reason: 'r',
  owner: 'o',
  expires: '2030-01-01',
} as const
const schema = createSchema<{ readonly ignore: Parameters<typeof createIgnores>[0] }>(shadowSchema)

it('a rule that the configuration takes is one that the book takes, and the reverse', () => {
  const members = Object.keys(ignoreRuleJson['properties'] as object)
  const bad = [
    { ...rule, class: 'I' },
    { ...rule, expires: 'never' },
    { ...rule, layer: '' },
    { ...rule, owner: 'o'.repeat(257) },
    { ...rule, more: 1 },
    ...members.map((name) => ({ ...rule, [name]: undefined })),
  ]
  for (const each of [rule, { ...rule, expires: '2030-01-01T10:00:00Z' }, ...bad]) {
    const given = JSON.parse(JSON.stringify(each)) as typeof rule
    const byConfig = schema.faults({ ignore: [given] }).length === 0
    const byBook = createSchema(ignoreRuleJson).faults(given).length === 0
    expect([each, byConfig]).toEqual([each, byBook])
  }
})
