import { parseDictionary } from 'structured-headers'
import { expect, it } from 'vitest'
import { headerNames } from '../plugins/headers.ts'
import { checkAnswer } from './header-checks.ts'

const names = headerNames('x-acme-')
const nonce = '0123456789abcdef0123456789abcdef'
const listOf = (text: string | undefined, member: string): unknown => {
  const list = parseDictionary(text ?? '').get(member)?.[0]
  return (list as unknown as [string][]).map(([name]) => name)
}

it('tells which of the headers that mean something have come', () => {
  const answer = checkAnswer(
    {
      'x-acme-foldgate-check': nonce,
      'x-request-id': nonce,
      traceparent: `00-${nonce}-0123456789abcdef-01`,
      'x-acme-conversation-id': nonce,
      'x-acme-deadline-ms': '60000',
      authorization: 'Bearer secret',
      'x-other': 'y',
    },
    names,
  )
  expect(listOf(answer, 'saw')).toEqual(['x-request-id', 'traceparent', 'x-acme-conversation-id', 'x-acme-deadline-ms'])
  expect(listOf(answer, 'changed')).toEqual([])
  expect(answer).not.toContain('secret')
})

it('tells which have come with another value', () => {
  const answer = checkAnswer(
    { 'x-acme-foldgate-check': nonce, 'x-request-id': 'edge-1', 'x-acme-conversation-id': nonce },
    names,
  )
  expect(listOf(answer, 'changed')).toEqual(['x-request-id'])
})

it('is silent when nobody asks, and to what is not the form of a question', () => {
  for (const asked of [undefined, '', 'x", saw=("y")', nonce.toUpperCase(), `${nonce}0`])
    expect(checkAnswer({ 'x-acme-foldgate-check': asked, te: 'trailers' }, names)).toBeUndefined()
})
