import { describe, expect, it } from 'vitest'
import { splicedEvents } from './spliced-events.ts'

const says = (content: string, finish: string | null = null, index = 0) =>
  `data: ${JSON.stringify({ choices: [{ index, delta: { content }, finish_reason: finish }] })}\n\n`
const done = 'data: [DONE]\n\n'
const failing = `data: ${JSON.stringify({ error: { message: 'busy', code: 502 } })}\n\n`

async function spliced(...parts: readonly string[]): Promise<{ text: string; fault: string | undefined }> {
  let text = ''
  try {
    for await (const part of splicedEvents(parts.map((each) => Buffer.from(each)))) text += part.toString()
    return { text, fault: undefined }
  } catch (reason) {
    return { text, fault: (reason as Error).message }
  }
}

describe('splicedEvents()', () => {
  it('passes a whole stream on as it came', async () => {
    const parts = [': hi\n', says('a'), says('b', 'stop'), done]
    expect(await spliced(...parts)).toEqual({ text: parts.join(''), fault: undefined })
  })

  it.each([
    ['an end mark', [says('a'), done]],
    ['an end mark without a line end', [says('a'), done.trimEnd()]],
    ['a finish reason for all that began', [says('a'), says('b', null, 1), says('', 'stop'), says('', 'stop', 1)]],
    ['a last event beyond what is kept', [says('x'.repeat(10_000), 'stop')]],
  ])('takes %s for the end', async (_, parts) => {
    expect(await spliced(...parts)).toEqual({ text: parts.join(''), fault: undefined })
  })

  it.each([
    ['nothing', []],
    ['no finish reason', [says('a')]],
    ['one of two choices', [says('a'), says('b', null, 1), says('', 'stop')]],
    ['talk of an end mark', [says('\ndata: [DONE]\n\n')]],
  ])('does not take %s for the end', async (_, parts) => {
    expect((await spliced(...parts)).fault).toMatch('before the answer was complete')
  })

  it.each([
    ['in a part of its own', [says('a'), failing, done]],
    ['behind a delta', [says('a') + failing + done]],
    ['without a line end', [says('a'), failing.trimEnd()]],
  ])('ends with an error that stands %s, after what came before it', async (_, parts) => {
    expect(await spliced(...parts)).toEqual({ text: says('a'), fault: 'busy (502)' })
  })

  it('does not take a word in the text, or an error that is null, for an error', async () => {
    const parts = [says('say "error" and {"error": 1}'), 'data: {"error":null,"choices":[]}\n\n', done]
    expect(await spliced(...parts)).toEqual({ text: parts.join(''), fault: undefined })
  })
})
