import { expect, test } from 'vitest'
import { type CallStory, createMemory } from './stories.ts'
import { story } from './test-operations.ts'

const call = (number: number, requestId = `req-${number}`): CallStory => ({ ...story, id: `call-${number}`, requestId })

test('a call is found by its request id and by its call id', () => {
  const stories = createMemory<CallStory>()
  stories.remember(call(1))
  expect(stories.find('req-1')?.id).toBe('call-1')
  expect(stories.find('call-1')?.requestId).toBe('req-1')
  expect(stories.find('req-2')).toBeUndefined()
})

test('only the last calls are remembered', () => {
  const stories = createMemory<CallStory>(3)
  for (let number = 1; number <= 1_000; number++) stories.remember(call(number))
  expect(stories.size).toBe(3)
  expect(['req-997', 'call-997'].map(stories.find)).toEqual([undefined, undefined])
  expect(['req-998', 'req-999', 'call-1000'].map((id) => stories.find(id)?.id)).toEqual([
    'call-998',
    'call-999',
    'call-1000',
  ])
})

test('of several calls with one request id the latest is told, also when the oldest goes', () => {
  const stories = createMemory<CallStory>(2)
  stories.remember(call(1, 'same'))
  stories.remember(call(2, 'same'))
  stories.remember(call(3))
  expect(stories.find('same')?.id).toBe('call-2')
  stories.remember(call(4))
  expect(stories.find('same')).toBeUndefined()
})
