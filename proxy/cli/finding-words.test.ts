import { expect, test } from 'vitest'
import { type RuleFinding, wordsFromReport } from './finding-words.ts'

test.each<[string, RuleFinding]>([
  ['compiled', { status: 'compiled' }],
  [
    'refused: GRAMMAR_TOO_LARGE: the grammar that it needs is too large at json.schema (value 70000, limit 65536); try: fewer branches',
    {
      status: 'refused',
      code: 'GRAMMAR_TOO_LARGE',
      limit: 65_536,
      value: 70_000,
      path: 'json.schema',
      try: 'fewer branches',
    },
  ],
  [
    'soft (enforced in part; the gateway goes on checking): PHRASE_LIMIT: it has more phrases, or longer ones, than a runner watches for (limit 200)',
    { status: 'soft', code: 'PHRASE_LIMIT', limit: 200 },
  ],
  [
    'refused: UNSATISFIABLE: two things that it asks for cannot both be had (value suffix and schema)',
    { status: 'refused', code: 'UNSATISFIABLE', value: ['suffix', 'schema'] },
  ],
])('a finding reads %s', (words, finding) => {
  expect(wordsFromReport(finding)).toBe(words)
})
