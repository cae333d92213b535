import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { invariants, scenarios } from './scenarios.ts'

const root = resolve(import.meta.dirname, '../..')
const text = (file: string): string => readFileSync(join(root, file), 'utf8')
/** The lines of a file in which a title of a test stands. */
const titles = (file: string): string =>
  text(file)
    .split('\n')
    .filter((line) => /^\s*(?:\[?\s*)['`]|\b(?:it|test|describe)(?:\.each)?\(/.test(line) || /^\s*\]\)\(/.test(line))
    .join('\n')
const files = ['plugins', 'proxy', 'native-runner', 'config', 'test'].flatMap((room) =>
  readdirSync(join(root, room), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join(room, name)),
)

it('there are 34 scenarios, numbered from 1', () => {
  expect(scenarios.map(({ number }) => number)).toEqual(Array.from({ length: 34 }, (_, index) => index + 1))
})

it.each(scenarios)('$number: $title is lived through by every test that is named for it', ({ number, tests }) => {
  expect(tests.filter((file) => !titles(file).includes(`(scenario ${number})`))).toEqual([])
})

it('no test carries a number under which it is not listed', () => {
  const carried = files.flatMap((file) =>
    [...titles(file).matchAll(/\(scenario (\d+)\)/g)].map(([, number]) => `${number} ${file}`),
  )
  const listed = new Set(scenarios.flatMap(({ number, tests }) => tests.map((file) => `${number} ${file}`)))
  expect(carried.length).toBeGreaterThan(60)
  expect(carried.filter((each) => !listed.has(each))).toEqual([])
})

describe('every invariant is held by a property', () => {
  it.each(Object.entries(invariants))('%s', (name, tests) => {
    expect(tests.filter((file) => !new RegExp(`\\b${name}\\b`).test(titles(file)))).toEqual([])
  })
})
