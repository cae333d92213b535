import { describe, expect, it } from 'vitest'
import { errorInChunk, reportedError } from './reported-error.ts'

describe('reportedError()', () => {
  it.each([
    [{ message: 'busy', code: 502 }, 'runner_error', 'busy (502)', 502],
    [{ message: 'slow down', code: '429' }, 'rate_limited', 'slow down (429)', 429],
    [{ message: 'no room', status: 503 }, 'no_capacity', 'no room', 503],
    [{ message: 'who?', code: 403 }, 'runner_credential', 'who? (403)', 502],
    [{ message: 'no', code: 413 }, 'invalid_request', 'no (413)', 413],
    [
      { message: 'long', code: 'context_length_exceeded' },
      'context_length_exceeded',
      'long (context_length_exceeded)',
      400,
    ],
    [{ message: 'odd', code: 7 }, 'runner_error', 'odd (7)', 502],
    ['just words', 'runner_error', 'just words', 502],
    [{}, 'runner_error', 'the runner reported an error', 502],
    [true, 'runner_error', 'the runner reported an error', 502],
  ])('says %j as %s', (said, code, message, status) => {
    const error = reportedError(said)
    expect([error.code, error.message, error.status]).toEqual([code, message, status])
  })

  it('cuts a long message', () => {
    expect(reportedError({ message: 'x'.repeat(10_000), code: 'y'.repeat(10_000) }).message.length).toBeLessThanOrEqual(
      600,
    )
  })
})

describe('errorInChunk()', () => {
  it('finds none where the error is null, and none in a chunk', () => {
    expect(errorInChunk({ error: null, choices: [] })).toBeUndefined()
    expect(errorInChunk({ object: 'chat.completion.chunk', choices: [] })).toBeUndefined()
  })

  it('finds one that stands in place of an answer', () => {
    expect(errorInChunk({ object: 'error', message: 'old words', code: 500 })?.message).toBe('old words (500)')
  })
})
